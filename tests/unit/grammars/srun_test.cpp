// Command lines of srun in a Slurm job and on one machine: equivalent dlaunch commands, notes and errors.
#include "grammars/srun/srun.h"

#include "launcher_fixture.h"

namespace dlaunch::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kUsual = "--oversubscribe --env-all --env-for slurm --stdin all --on-failure continue";

/// In a Slurm job of three nodes with 4 CPUs each.
LauncherFixture in_slurm(std::vector<std::string> more = {}) {
  LauncherFixture srun("srun", kUsual);
  srun.environment = {"HOME=/home/u",
                      "USER=u",
                      "SLURM_JOB_ID=5",
                      "SLURM_JOB_NODELIST=node[1-3]",
                      "SLURM_JOB_NUM_NODES=3",
                      "SLURM_TASKS_PER_NODE=4(x3)",
                      "SLURM_JOB_CPUS_PER_NODE=4(x3)"};
  srun.environment.insert(srun.environment.end(), more.begin(), more.end());
  srun.files = {{"/cwd/p", "# comment\n1-2 a 'x y' %t\n0 b \"%o\" 5%\n"}, {"/cwd/hosts/a", "node3\nnode1\n"}};
  return srun;
}

class SrunLine : public testing::TestWithParam<SameLine> {};

TEST_P(SrunLine, HasEquivalentLine) { EXPECT_EQ(in_slurm().same(GetParam().args), GetParam().same); }

INSTANTIATE_TEST_SUITE_P(
    Places, SrunLine,
    testing::Values(
        SameLine{{"x", "-n", "a:b", "--"}, "--map-by block -n 3 x -n a:b --"},
        SameLine{{"-n5", "--", "-x"}, "--map-by block -n 5 -x"},
        SameLine{{"-ln", "5", "x"}, "--label='{rank}: ' --map-by block -n 5 x"},
        SameLine{{"--ntasks=6", "--ntasks-per-n=2", "x"}, "--map-by block -x SLURM_NTASKS_PER_NODE=2 -n 6 x"},
        SameLine{{"-N2", "--tasks-per-node", "2", "x"},
                 "--include node1@node2 --map-by block -x SLURM_NTASKS_PER_NODE=2 -n 4 x"},
        SameLine{{"-N", "1-2", "-n4", "x"}, "--include node1@node2 --map-by block -n 4 x"},
        SameLine{{"-n1", "x"}, "--include node1 -n 1 x"},
        SameLine{{"-r1", "-n2", "x"}, "--include node2@node3 --map-by block -n 2 x"},
        SameLine{{"-w", "node3", "-N2", "-n2", "x"}, "--include node1@node3 --map-by block -n 2 x"},
        SameLine{{"-w", "hosts/a", "-N2", "x"}, "--include node1@node3 --map-by block -n 2 x"},
        SameLine{{"-x", "node[1,3]", "-N1", "-n3", "x"}, "--include node2 -n 3 x"},
        SameLine{{"-m", "cyclic", "-n5", "x"}, "--map-by node -n 5 x"},
        SameLine{{"-m", "block:cyclic,Pack", "-n5", "x"},
                 "--max-slots 4,1 --include node1@node2 --map-by block -x SLURM_DISTRIBUTION=block:cyclic,pack -n 5 x"},
        SameLine{{"-m", "block,pack", "-N3", "-n6", "x"},
                 "--max-slots 4,1,1 --map-by block -x SLURM_DISTRIBUTION=block,pack -n 6 x"},
        SameLine{{"-m", "pack", "-w", "node3", "-n3", "x"}, "--include node3 -x SLURM_DISTRIBUTION=block,pack -n 3 x"},
        SameLine{{"-m", "pack", "-O", "-n15", "x"}, "--map-by block -x SLURM_DISTRIBUTION=block,pack -n 15 x"},
        SameLine{{"-m", "cyclic,pack", "-n6", "x"}, "--map-by node -x SLURM_DISTRIBUTION=cyclic,pack -n 6 x"},
        SameLine{{"-m", "CYCLIC", "-n5", "x"}, "--map-by node -n 5 x"},
        SameLine{{"-w", "node3*2", "-n1", "x"}, "--include node3 -n 1 x"},
        SameLine{{"-m", "plane=2", "-n5", "x"}, "-N 2 -x SLURM_DISTRIBUTION=plane -x SLURM_DIST_PLANESIZE=2 -n 5 x"},
        SameLine{{"-O", "-n13", "x"}, "--map-by block -n 13 x"},
        SameLine{{"-c2", "x"},
                 "--bind-to hwthread:if-supported --cores-per-rank 2 --map-by block -n 6 -x SLURM_CPUS_PER_TASK=2 x"}));

INSTANTIATE_TEST_SUITE_P(
    Bindings, SrunLine,
    testing::Values(
        SameLine{{"-n4", "-N1", "--cpu-bind=v,cores", "x"}, "--include node1 --bind-to core --report-bindings -n 4 x"},
        SameLine{{"-n4", "-N1", "--cpu_bind", "none", "-c1", "x"}, "--include node1 -n 4 -x SLURM_CPUS_PER_TASK=1 x"},
        SameLine{{"-n2", "-N1", "-c2", "--hint=nomultithread", "x"},
                 "--include node1 --bind-to core:if-supported --cores-per-rank 2 -n 2 -x SLURM_CPUS_PER_TASK=2 x"},
        SameLine{{"-n4", "-N1", "--cpu-bind=Cores,verbose", "x"},
                 "--include node1 --bind-to core --report-bindings -n 4 x"},
        SameLine{{"-n4", "-N1", "--cpu-bind=ldoms,q", "x"}, "--include node1 --bind-to numa -n 4 x"},
        SameLine{{"-n4", "-N1", "--cpu-bind=v", "x"}, "--include node1 --report-bindings -n 4 x"},
        SameLine{{"-n2", "-N1", "--cpu-bind=MAP_CPU:0,1,v", "x"},
                 "--include node1 --cpu-list p0/p1 --report-bindings -n 2 x"},
        SameLine{{"-n2", "-N1", "-c2", "--hint=NOMULTITHREAD", "x"},
                 "--include node1 --bind-to core:if-supported --cores-per-rank 2 -n 2 -x SLURM_CPUS_PER_TASK=2 x"},
        SameLine{{"-n2", "-N1", "--cpu-bind=map_cpu:0,4*2", "x"}, "--include node1 --cpu-list p0/p4/p4 -n 2 x"},
        SameLine{{"-n2", "-N1", "--cpu-bind=mask_cpu:0x5,f0", "x"},
                 "--include node1 --cpu-list p0,p2/p4,p5,p6,p7 -n 2 x"},
        SameLine{{"-n2", "-N1", "--gpus-per-task=a100:1", "x"}, "--include node1 --visible rank -n 2 x"},
        SameLine{{"-n2", "-N1", "--gpus-per-node=2", "--gpu-bind=closest", "x"},
                 "--devices 0-1 --include node1 --visible rank --bind-to device -n 2 x"},
        SameLine{{"-n2", "-N1", "--gpu-bind=map_gpu:1,0", "x"}, "--devices 1,0 --include node1 --visible rank -n 2 x"},
        SameLine{{"-n2", "-N1", "--gpu-bind=mask_gpu:0x10,2", "x"},
                 "--devices 4,1 --include node1 --visible rank -n 2 x"},
        SameLine{{"-n2", "-N1", "--gres=gpu:0", "x"}, "--include node1 -n 2 -x CUDA_VISIBLE_DEVICES= x"}));

INSTANTIATE_TEST_SUITE_P(
    Streams, SrunLine,
    testing::Values(
        SameLine{{"-n1", "-o", "a.%j.%t", "x"},
                 "--include node1 --stdout-file 'a.5.{rank}' --merge-stderr-to-stdout -n 1 x"},
        SameLine{{"-n1", "-o{%N.%3s", "-enone", "x"},
                 "--include node1 --stdout-file '{{{host}.000' --stderr-file /dev/null -n 1 x"},
        SameLine{{"-n1", "-o", "a", "-e", "b", "--open-mode=append", "x"},
                 "--include node1 --stdout-file a:append --stderr-file b:append -n 1 x"},
        SameLine{{"-n1", "-o", "a", "--open-mode=t", "x"},
                 "--include node1 --stdout-file a --merge-stderr-to-stdout -n 1 x"},
        SameLine{{"-n1", "-o", "%x:copy", "-e", "b:local=0", "x"},
                 "--include node1 --stdout-file job:copy: --stderr-file b:local=0: -n 1 x"},
        SameLine{{"-n1", "-o", "a:", "-e", "a:b/c", "--open-mode=a", "x"},
                 "--include node1 --stdout-file a:::append --stderr-file a:b/c:append -n 1 x"},
        SameLine{{"-un1", "x"}, "--include node1 --raw -n 1 x"},
        SameLine{{"-lun1", "x"}, "--include node1 --label='{rank}: ' -n 1 x"},
        SameLine{{"-n3", "-o", "2", "x"}, "--ranks 2 --map-by block -n 3 x"},
        SameLine{{"-n2", "-N1", "-o", "2", "-e", "NONE", "-i", "5", "x"},
                 "--include node1 --stdout-file 2 --stderr-file /dev/null --stdin none -n 2 "
                 "sh -c 'exec \"$@\" <5' sh x"},
        SameLine{{"-n1", "-o", "all.log", "x"},
                 "--include node1 --stdout-file all.log --merge-stderr-to-stdout -n 1 x"},
        SameLine{{"-n1", "-o", "-", "-e", "ALL", "-i", "None", "x"}, "--include node1 --stdin none -n 1 x"},
        SameLine{{"-n1", "-o", "a\\%t", "-e", "b\\\\%t", "x"},
                 "--include node1 --stdout-file a%t --stderr-file b%t -n 1 x"},
        SameLine{{"-n1", "-i", "in.%2t", "x", "y"},
                 "--include node1 --stdin none -n 1 sh -c 'exec \"$@\" <in.$(printf %02d $SLURM_PROCID)' sh x y"},
        SameLine{{"-n1", "-i", "in.%t", "x"},
                 "--include node1 --stdin none -n 1 sh -c 'exec \"$@\" <in.$SLURM_PROCID' sh x"},
        SameLine{{"-n1", "-o", "a", "--open-mode=A", "-K2", "x"},
                 "--include node1 --stdout-file a:append --merge-stderr-to-stdout --on-failure abort -n 1 x"},
        SameLine{{"-n1", "-t", "1-", "x"}, "--include node1 --timeout 86400 -n 1 x"},
        SameLine{{"-n1", "-t", "UNLIMITED", "x"}, "--include node1 --timeout 0 -n 1 x"},
        SameLine{{"-n1", "-t-1", "x"}, "--include node1 --timeout 0 -n 1 x"},
        SameLine{{"-n1", "-i", "none", "x"}, "--include node1 --stdin none -n 1 x"},
        SameLine{{"--pty", "-n1", "bash"}, "--include node1 --ranks 0 --pty --stdin 0 -n 1 bash"},
        SameLine{{"-n1", "-t", "1-2:3", "-D", "/d", "--mpi=pmix_v4", "x"},
                 "--include node1 --mpi pmix --timeout 93780 --wdir /d -n 1 x"},
        SameLine{{"-n1", "-W0", "x"}, "--include node1 -n 1 x"},
        SameLine{{"-n1", "--wait=60", "x"}, "--include node1 --wait-after-first 60 -n 1 x"},
        SameLine{{"-n1", "-K", "--export=ALL,USER=v,B=w", "x"}, "--include node1 --on-failure abort -n 1 -x B=w x"},
        SameLine{{"-n1", "--export=all,B=w", "x"}, "--include node1 -n 1 -x B=w x"},
        SameLine{{"-n1", "--export=None", "x"}, "--include node1 --no-env -n 1 x"},
        SameLine{{"-n1", "--export=ALL,B=\"u,v\",'C=a,b',D=2", "x"},
                 "--include node1 -n 1 -x 'B=\"u,v\"' -x C=a,b -x D=2 x"},
        SameLine{{"-n1", "--export=USER,B=w", "x"}, "--include node1 --no-env -n 1 -x USER -x B=w x"},
        SameLine{{"-n3", "--multi-prog", "p", "z"},
                 "--map-by block -n 3 sh -c 'case $SLURM_PROCID in\n1) o=0; exec a '\\''x y'\\'' "
                 "\"$SLURM_PROCID\" \"$@\";;\n2) o=1; "
                 "exec a '\\''x y'\\'' \"$SLURM_PROCID\" \"$@\";;\n0) o=0; exec b "
                 "'\\''\"'\\''\"$o\"'\\''\"'\\'' 5% \"$@\";;\nesac' sh z"}));

TEST(Srun, ShellSelectsSeveralDevicesPerRank) {
  EXPECT_THAT(in_slurm().same({"-n2", "-N1", "--gpus-per-task=2", "--gpu-bind=per_task:2", "x", "y"}),
              testing::AllOf(HasSubstr("a=$((SLURM_LOCALID * 2 + 1)) b=$((SLURM_LOCALID * 2 + 2))"),
                             testing::EndsWith("exec \"$@\"' sh x y")));
  EXPECT_EQ(in_slurm().same({"-n1", "--gpus-per-task=2", "--gpu-bind=none", "x"}), "--include node1 -n 1 x");
}

TEST(Srun, ReadsItsVariables) {
  const auto srun = in_slurm({"SLURM_NTASKS=4", "SLURM_NTASKS_PER_NODE=2", "SLURM_LABELIO=", "SLURM_KILL_BAD_EXIT=1",
                              "SLURM_DISTRIBUTION=cyclic", "SLURM_OVERCOMMIT=0"});
  EXPECT_EQ(srun.same({"x"}), "--label='{rank}: ' --map-by node --on-failure abort -n 4 x");
  EXPECT_EQ(srun.same({"-K0", "-n", "6", "x"}), "--label='{rank}: ' --map-by node -n 6 x");
}

/// srun since 23.02.5, for #SBATCH -N3 -n6 --ntasks-per-node=2.
TEST(Srun, TypedNodesAndRanksPerNodeOverrideNtasksOfTheJob) {
  const auto srun = in_slurm({"SLURM_NTASKS=6", "SLURM_NNODES=3"});
  const auto per_node = in_slurm({"SLURM_NTASKS=6", "SLURM_NNODES=3", "SLURM_NTASKS_PER_NODE=2"});
  EXPECT_EQ(per_node.same({"-N1", "x"}), "--include node1 -n 2 x");
  EXPECT_EQ(per_node.same({"-N1", "-n3", "x"}), "--include node1 -n 3 x");
  EXPECT_EQ(per_node.same({"x"}), "--map-by block -n 6 x");
  EXPECT_EQ(srun.same({"-N2", "--ntasks-per-node=4", "x"}),
            "--include node1@node2 --map-by block -x SLURM_NTASKS_PER_NODE=4 -n 8 x");
  EXPECT_THAT(srun.options({"-N2", "--ntasks-per-node=2", "x"}).notes, IsEmpty());
  EXPECT_EQ(srun.same({"--ntasks-per-node=3", "x"}), "--map-by block -x SLURM_NTASKS_PER_NODE=3 -n 6 x");
}

TEST(Srun, ReadsQuotesAndOrderOfMultiProg) {
  auto srun = in_slurm();
  srun.files["/cwd/q"] = "2,0-1 w %o\n3 a '%t' \\\na\\ b '' \\%t\n* z\n";
  EXPECT_THAT(srun.same({"-n5", "--multi-prog", "q"}), HasSubstr(R"(2) o=0; exec w "$o" "$@";;
0) o=1; exec w "$o" "$@";;
1) o=2; exec w "$o" "$@";;
3) o=0; exec a %t '\''a b'\'' '\'''\'' %t "$@";;
*) o=$SLURM_PROCID; exec z "$@";;)"));
}

TEST(Srun, StartsARankForEachLineOfMultiProg) {
  auto srun = in_slurm();
  srun.files["/cwd/q"] = "0 a\n1-4 b\n";
  EXPECT_THAT(srun.same({"--multi-prog", "q"}), HasSubstr("--map-by block -n 5 sh -c"));
  EXPECT_THAT(srun.error({"-N2", "-n2", "--multi-prog", "q"}),
              AllOf(HasSubstr("q:2: unknown rank \"4\": the job has 2 ranks"), HasSubstr("set -n 5")));
  EXPECT_THAT(srun.error({"-n6", "--multi-prog", "q"}), HasSubstr("q: missing program of rank 5"));
  LauncherFixture outside("srun", kUsual);
  outside.files = srun.files;
  EXPECT_THAT(outside.same({"--multi-prog", "q"}), testing::StartsWith("-n 5 sh -c"));
  srun.files["/cwd/q"] = "0 a\n";
  EXPECT_THAT(srun.error({"--multi-prog", "q"}), HasSubstr("missing program of rank 1")) << "one rank per node";
  srun.files["/cwd/q"] = "0-1 a\n1 b\n";
  EXPECT_THAT(srun.error({"-n2", "--multi-prog", "q"}), HasSubstr("q:2: duplicate rank \"1\""));
  srun.files["/cwd/q"] = "* a\n1 b\n";
  EXPECT_THAT(srun.error({"-n2", "--multi-prog", "q"}), HasSubstr("put the line before the line with *"));
  srun.files["/cwd/q"] = "# a \\\nb\n0-1 a \\";
  EXPECT_THAT(srun.same({"-n2", "--multi-prog", "q"}), HasSubstr("0) o=0; exec a \"$@\""));
}

TEST(Srun, ReadsVariablesOfLessUsualOptions) {
  const auto srun =
      in_slurm({"SLURM_NTASKS=1", "SRUN_OUTPUT=a", "SRUN_ERROR=b", "SRUN_INPUT=none", "SLURM_STDOUTMODE=c",
                "SLURM_REMOTE_CWD=/usr", "SLURM_WORKING_DIR=/tmp", "SLURM_NTASKS_PER_GPU=1"});
  EXPECT_EQ(srun.same({"x"}),
            "--include node1 --visible rank --stdout-file a --stderr-file b --stdin none --wdir /tmp -n 1 x");
  EXPECT_EQ(in_slurm({"SLURM_SRUN_MULTI=1"}).same({"-n3", "p"}), in_slurm().same({"-n3", "--multi-prog", "p"}));
  EXPECT_THAT(in_slurm({"SLURM_NTASKS_PER_GPU=2"}).error({"-n1", "x"}), HasSubstr("SLURM_NTASKS_PER_GPU: not supp"));
}

TEST(Srun, PrintsNotesForPrologsOfASite) {
  const Words variables = {"SLURM_PROLOG=a", "SLURM_EPILOG=a", "SLURM_TASK_PROLOG=a", "SLURM_TASK_EPILOG=a",
                           "SLURM_BCAST=a"};
  for (const std::string& variable : variables) {
    const std::string name = variable.substr(0, variable.find('='));
    EXPECT_THAT(in_slurm({variable}).options({"-n1", "x"}).notes, ElementsAre(HasSubstr(name + " changes nothing")));
  }
  EXPECT_THAT(in_slurm().error({"--task-prolog=a", "x"}), HasSubstr("--task-prolog: not supported"));
}

TEST(Srun, ReadsVariablesOfTheGroupInAHeterogeneousJob) {
  LauncherFixture srun("srun", kUsual);
  srun.environment = {"SLURM_HET_SIZE=2",
                      "SLURM_JOB_ID=19",
                      "SLURM_JOB_NODELIST_HET_GROUP_0=n[1-2]",
                      "SLURM_JOB_NODELIST_HET_GROUP_1=n3",
                      "SLURM_TASKS_PER_NODE_HET_GROUP_0=2(x2)",
                      "SLURM_TASKS_PER_NODE_HET_GROUP_1=3",
                      "SLURM_NTASKS=9",
                      "SLURM_NTASKS_HET_GROUP_0=4",
                      "SLURM_NTASKS_HET_GROUP_1=3",
                      "SLURM_DISTRIBUTION_HET_GROUP_0=cyclic"};
  EXPECT_EQ(srun.same({"x"}), "--include n1@n2 --map-by node -n 4 x");
  for (const char* group : {"1", "01", "[1]"}) {
    EXPECT_EQ(srun.same({"--het-group", group, "x"}), "--include n3 -n 3 x") << group;
  }
  EXPECT_EQ(srun.same({"-n2", "x"}), "--include n1@n2 --map-by node -n 2 x");
}

TEST(Srun, ReadsResourcesOfATask) {
  const auto srun = in_slurm();
  EXPECT_EQ(srun.same({"-n2", "-N1", "--tres-per-task=gres/gpu:a100=1", "x"}), "--include node1 --visible rank -n 2 x");
  EXPECT_EQ(srun.same({"-N1", "--tres-per-task=cpu=2,gres/gpu=1", "x"}),
            srun.same({"-N1", "-c2", "--gpus-per-task=1", "x"}));
  EXPECT_THAT(srun.same({"-n2", "-N1", "--tres-per-task=gres/gpu=2", "x"}), HasSubstr("SLURM_LOCALID * 2 + 1"));
  EXPECT_EQ(srun.same({"-n2", "-N1", "--tres-per-task=gres/gpu=0", "x"}), "--include node1 -n 2 x");
  EXPECT_EQ(srun.same({"-n2", "-N1", "--gpus-per-task=0", "x"}), "--include node1 -n 2 x") << "as srun";
  EXPECT_EQ(srun.same({"-n2", "-N1", "--tres-bind=gres/gpu:map:1,0+gres/nic:closest", "x"}),
            "--devices 1,0 --include node1 --visible rank -n 2 x");
  EXPECT_THAT(srun.options({"-n1", "--tres-per-task=license/a=1", "--tres-bind=gres/nic:closest", "x"}).notes,
              ElementsAre(HasSubstr("license/a changes nothing"), HasSubstr("gres/nic:closest changes nothing")));
}

/// The variables of Slurm 24.11 in a job of --gpus-per-task.
TEST(Srun, ReadsResourcesOfATaskFromNewerSlurm) {
  const auto srun = in_slurm({"SLURM_NTASKS=4", "SLURM_GPUS_ON_NODE=4", "SLURM_TRES_PER_TASK=cpu=1,gres/gpu=1",
                              "SLURM_TRES_BIND=gres/gpu:per_task:1"});
  EXPECT_EQ(srun.same({"x"}), "--devices 0-3 --visible rank --map-by block -n 4 -x SLURM_CPUS_PER_TASK=1 x");
  EXPECT_EQ(srun.same({"-c1", "x"}), srun.same({"x"}));
  EXPECT_THAT(srun.same({"--gpus-per-task=2", "x"}), HasSubstr("SLURM_LOCALID * 2 + 1"));
  EXPECT_EQ(srun.same({"--gpu-bind=none", "x"}), "--map-by block -n 4 -x SLURM_CPUS_PER_TASK=1 x");
  EXPECT_THAT(srun.options({"x"}).notes, IsEmpty());
}

TEST(Srun, ReadsBindingOfGpusFromNewerSlurm) {
  const auto srun =
      in_slurm({"SLURM_GPUS_ON_NODE=4", "SLURM_TRES_PER_TASK=cpu=1", "SLURM_TRES_BIND=gres/gpu:per_task:1"});
  EXPECT_EQ(srun.same({"-n1", "x"}), "--devices 0-3 --include node1 --visible rank -n 1 -x SLURM_CPUS_PER_TASK=1 x");
}

TEST(Srun, RejectsMalformedResourcesOfATask) {
  EXPECT_THAT(in_slurm({"SLURM_TRES_PER_TASK=gres/gpu=x"}).error({"-n1", "x"}),
              HasSubstr("SLURM_TRES_PER_TASK: invalid list of resources \"gres/gpu=x\""));
  EXPECT_THAT(in_slurm({"SLURM_TRES_BIND=gpu"}).error({"-n1", "x"}), HasSubstr("SLURM_TRES_BIND: invalid binding"));
  EXPECT_EQ(in_slurm({"SLURM_TRES_PER_TASK=license/a=1"}).same({"-n1", "x"}), "--include node1 -n 1 x");
}

TEST(Srun, IgnoresCpuMaskOfInteractiveShell) {
  const auto srun = in_slurm({"SLURM_CPU_BIND=quiet,mask_cpu:0x1"});
  EXPECT_EQ(srun.same({"-n1", "x"}), "--include node1 -n 1 x");
  EXPECT_THAT(srun.options({"-n1", "x"}).notes, ElementsAre(HasSubstr("SLURM_CPU_BIND")));
}

/// Nodes with 8 and 4 CPUs.
TEST(Srun, LeavesOutNodesWhoseCpusAreUsed) {
  const auto srun = in_slurm({"SLURM_JOB_NODELIST=n[1-2]", "SLURM_JOB_NUM_NODES=2", "SLURM_TASKS_PER_NODE=2(x2)",
                              "SLURM_JOB_CPUS_PER_NODE=8,4"});
  EXPECT_EQ(srun.same({"-n8", "x"}), "--map-by block -n 8 x");
  EXPECT_EQ(srun.same({"-n10", "x"}), "--max-slots 6,4 --map-by block -n 10 x");
  EXPECT_EQ(srun.same({"-n10", "-m", "cyclic", "x"}), "--max-slots 6,4 --map-by node -n 10 x");
  EXPECT_EQ(srun.same({"-n12", "x"}), "--max-slots 8,4 --map-by block -n 12 x");
  EXPECT_EQ(srun.same({"-n14", "-O", "x"}), "--max-slots 9,5 --map-by block -n 14 x");
  EXPECT_THAT(srun.same({"-n6", "-c2", "x"}), HasSubstr("--max-slots 4,2 "));
  EXPECT_THAT(srun.same({"-n5", "-c2", "-m", "pack", "x"}), HasSubstr("--max-slots 4,1 "));
  EXPECT_EQ(srun.same({"-n8", "-m", "pack", "x"}), "--include n1 -x SLURM_DISTRIBUTION=block,pack -n 8 x");
}

TEST(Srun, RejectsAHostFileThatPlacesEachRank) {
  const auto srun = in_slurm({"SLURM_HOSTFILE=hosts/a"});
  EXPECT_THAT(srun.error({"-n2", "-m", "block", "x"}), HasSubstr("SLURM_HOSTFILE: not supported: arbitrary"));
  EXPECT_EQ(srun.same({"-n1", "-w", "node2", "x"}), "--include node2 -n 1 x");
}

TEST(Srun, PrintsOneNoteForAllocationOptions) {
  EXPECT_THAT(in_slurm().options({"-p", "q", "-A", "a", "--mem=4", "x"}).notes,
              ElementsAre(AllOf(HasSubstr("--mem"), HasSubstr("changes nothing")),
                          HasSubstr("--account, --partition change nothing here")));
}

TEST(Srun, StartsOnThisMachineOutsideAJob) {
  const LauncherFixture srun("srun", kUsual);
  EXPECT_EQ(srun.same({"-n4", "x"}), "-n 4 x");
  EXPECT_EQ(srun.same({"-N1", "--ntasks-per-node=3", "x"}), "-x SLURM_NTASKS_PER_NODE=3 -n 3 x");
  EXPECT_EQ(srun.same({"x"}), "-n 1 x");
  for (const Words& words : {Words{"-N2", "x"}, Words{"-w", "a", "x"}, Words{"-p", "q", "x"}, Words{"-A", "a", "x"}}) {
    EXPECT_THAT(srun.error(words), HasSubstr("salloc or sbatch")) << words.front();
  }
}

class RefusedSrunLine : public testing::TestWithParam<RefusedLine> {};

TEST_P(RefusedSrunLine, HasMessage) { EXPECT_THAT(in_slurm().error(GetParam().args), HasSubstr(GetParam().message)); }

INSTANTIATE_TEST_SUITE_P(
    Words, RefusedSrunLine,
    testing::Values(
        RefusedLine{{"-n=4", "x"}, "--ntasks: invalid number \"=4\""},
        RefusedLine{{"--nod", "2", "x"}, "ambiguous option \"--nod\""}, RefusedLine{{"-n"}, "missing value of -n"},
        RefusedLine{{"-n2"}, "missing program"}, RefusedLine{{"-n13", "x"}, "add --overcommit"},
        RefusedLine{{"-n2", "-c9", "x"}, "allows 0 ranks"},
        RefusedLine{{"-n1", "x", ":", "-n1", "y"}, "not supported: several programs"},
        RefusedLine{{"-N4", "x"}, "not enough nodes: 3 available"},
        RefusedLine{{"-w", "node9", "x"}, "unknown node \"node9\""},
        RefusedLine{{"-w", "node1", "-x", "node1", "x"}, "--nodelist conflicts with --exclude: both name node1"},
        RefusedLine{{"-m", "plane=2", "-n4", "x"}, "more nodes than planes"},
        RefusedLine{{"-m", "plane=2", "-n7", "x"}, "more planes than nodes"},
        RefusedLine{{"-r1", "-w", "node2", "x"}, "--relative conflicts with --nodelist"},
        RefusedLine{{"-m", "arbitrary", "x"}, "--rankfile"}, RefusedLine{{"-m", "plane=1x", "x"}, "expected plane=N"},
        RefusedLine{{"-m", "plane=1", "-m", "round", "x"}, "block, cyclic"},
        RefusedLine{{"--gpus-per-task=2", "--gpu-bind=closest", "x"}, "in the order of the node's list"},
        RefusedLine{{"--gpus-per-task=a100:2,v100:1", "x"}, "invalid number of devices"},
        RefusedLine{{"--gpu-bind=mask_gpu:3", "x"}, "map_gpu:0,1,2,3"},
        RefusedLine{{"--gpu-bind=mask_gpu:x", "x"}, "invalid device list"},
        RefusedLine{{"--tres-per-task=gres/gpu=x", "x"}, "--tres-per-task: invalid list of resources \"gres/gpu=x\""},
        RefusedLine{{"--tres-per-task=cpu=0", "x"}, "invalid list of resources"},
        RefusedLine{{"--tres-per-task=gres/gpu:a=1,gres/gpu:b=1", "x"}, "--tres-per-task: invalid number of devices"},
        RefusedLine{{"--tres-per-task=cpu=1", "-c2", "x"}, "--tres-per-task conflicts with --cpus-per-task"},
        RefusedLine{{"--tres-bind=closest", "x"}, "--tres-bind: invalid binding \"closest\": expected gres/gpu:HOW"},
        RefusedLine{{"--tres-bind=gres/gpu:near", "x"}, "--tres-bind: invalid device binding \"near\""},
        RefusedLine{{"--cpu-bind=mask_cpu:x", "x"}, "invalid CPU list"},
        RefusedLine{{"-W", "x", "x"}, "--wait: invalid number \"x\""},
        RefusedLine{{"-t", "1:2:3:4", "x"}, "invalid time \"1:2:3:4\""},
        RefusedLine{{"--jobid=7", "x"}, "not supported: ranks in another job"},
        RefusedLine{{"--container-image=i", "x"}, "apptainer"}, RefusedLine{{"--mpi=pspmix", "x"}, "expected pmix"},
        RefusedLine{{"--open-mode=b", "x"}, "expected append or truncate"},
        RefusedLine{{"-o", "a.%2t", "x"}, "not supported: a width with %t"},
        RefusedLine{{"-o", "a.%n", "x"}, "unknown field \"%n\""}, RefusedLine{{"--multi-prog", "q"}, "cannot read"},
        RefusedLine{{"--export=NONE,A", "x"}, "NONE conflicts with"},
        RefusedLine{{"--export=none,A=1", "x"}, "NONE conflicts with"},
        RefusedLine{{"--het-group=1", "x"}, "requires a heterogeneous job"}));

TEST(Srun, PageListsTheOptions) { expect_table_in("migrate/srun.md", srun_launcher()); }

}  // namespace
}  // namespace dlaunch::cli
