// Command lines of DeepSpeed's launcher: equivalent dlaunch commands, notes and errors.
#include "grammars/launchers.h"

#include "launcher_fixture.h"

namespace dlaunch::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kDefaults = "--ignore-resource-manager --env-all --env-for deepspeed --visible host --grace 30";
constexpr const char* kSh = "sh -c 'exec python3 -u t.py --local_rank=$LOCAL_RANK \"$@\"' sh";

LauncherFixture deepspeed() {
  LauncherFixture fixture{"deepspeed", kDefaults};
  fixture.files["/cwd/hosts"] = "# two\nn1 slots=4\n\nn2\tslots=4  # GPUs\n";
  fixture.files["/cwd/one"] = "n1 slots=2\n";
  fixture.files["/cwd/unlike"] = "n1 slots=2\nu@fd00::5 slots=1\n";
  return fixture;
}

class DeepspeedLine : public testing::TestWithParam<SameLine> {};

TEST_P(DeepspeedLine, HasEquivalentLine) { EXPECT_EQ(deepspeed().same(GetParam().args), GetParam().same); }

const std::string kPath = " -x PYTHONPATH=/cwd ";

INSTANTIATE_TEST_SUITE_P(
    Words, DeepspeedLine,
    testing::Values(
        SameLine{{"t.py", "--deepspeed", "-n"}, std::string("-n devices ") + kSh + " --deepspeed -n"},
        SameLine{{"--num_gpus=2", "t.py"}, std::string("-N 2 --devices 0-1 ") + kSh},
        SameLine{{"--num_acc", "1", "--num_nodes", "1", "t.py"}, std::string("-N 1 --devices 0 ") + kSh},
        SameLine{{"--num_gpus", "-1", "--hostfile=hosts", "--no_local_rank", "t.py"},
                 "--host n1:4,n2:4 --include n1:0-3@n2:0-3" + kPath + "python3 -u t.py"},
        SameLine{{"-H", "hosts", "--num_gpus=8", "--no_local_rank", "t.py"},
                 "--host n1:8,n2:8 --include n1:0-7@n2:0-7" + kPath + "python3 -u t.py"},
        SameLine{{"-Hunlike", "--no_local_rank", "t.py"},
                 "--host 'n1:2,u@[fd00::5]:1' --include 'n1:0-1@[fd00::5]:0'" + kPath + "python3 -u t.py"},
        SameLine{{"-Hhosts", "-i", "n2:3,1@n1", "--no_local_rank", "t.py"},
                 "--host n1:4,n2:2 --include n1:0-3@n2:1,3" + kPath + "python3 -u t.py"},
        SameLine{{"-Hhosts", "-e", "n2:0@n2:1", "--no_local_rank", "t.py"},
                 "--host n1:4,n2:2 --include n1:0-3@n2:2-3" + kPath + "python3 -u t.py"},
        SameLine{{"-Hhosts", "-e", "n2", "--no_local_rank", "t.py"}, "-N 4 --devices 0-3 python3 -u t.py"},
        SameLine{{"-Hhosts", "--num_nodes=1", "--force_multi", "--no_local_rank", "t.py"},
                 "--host n1:4 --include n1:0-3" + kPath + "python3 -u t.py"},
        SameLine{{"-Hhosts", "--master_addr=h", "--master_port=29501", "--ssh_port=2222", "--no_local_rank", "t.py"},
                 "--host n1:4,n2:4 --include n1:0-3@n2:0-3 --ssh-port 2222" + kPath +
                     "-x MASTER_ADDR=h -x MASTER_PORT=29501 python3 -u t.py"},
        SameLine{{"-Hhosts", "--no_ssh", "--node_rank=1", "--master_addr=h", "--master_port=1234", "--no_local_rank",
                  "t.py"},
                 "-N 4 --devices 0-3 --same-line --rendezvous h:1234 --node-rank 1 --nodes 2 python3 -u t.py"},
        SameLine{{"-Hhosts", "--no_ssh", "--node_rank=0", "--num_gpus=2", "--no_local_rank", "t.py"},
                 "-N 2 --devices 0-1 --same-line --rendezvous n1:29500 --node-rank 0 --nodes 2 python3 -u t.py"},
        SameLine{{"--no_ssh", "--node_rank=0", "--no_local_rank", "t.py"}, "-n devices python3 -u t.py"},
        SameLine{{"--include", "localhost:3,1", "--no_local_rank", "t.py"}, "-N 2 --devices 1,3 python3 -u t.py"},
        SameLine{{"--include=localhost", "--no_local_rank", "t.py"}, "-n devices python3 -u t.py"},
        SameLine{{"--exclude=localhost:0", "--no_local_rank", "t.py"},
                 "--exclude localhost:0 -n devices python3 -u t.py"},
        SameLine{{"--module", "--no_local_rank", "pkg.train", "x"}, "-n devices python3 -u -m pkg.train x"},
        SameLine{{"--no_python", "--no_local_rank", "./prog"}, "-n devices ./prog"},
        SameLine{{"--no_python", "./a b", "x"},
                 "-n devices sh -c 'exec '\\''./a b'\\'' --local_rank=$LOCAL_RANK \"$@\"' sh x"},
        SameLine{{"--bind_cores_to_rank", "--num_gpus=2", "--enable_each_rank_log=l{g", "--no_local_rank", "t.py"},
                 "-N 2 --devices 0-1 --output-filename 'l{{g/00000000000000_rank{rank}.log:nocopy' --cores-per-rank "
                 "share python3 -u t.py"},
        SameLine{{"-q", "--enable_each_rank_log", "None", "--launcher_args", "", "--no_local_rank", "t.py"},
                 "-n devices python3 -u t.py"}));

TEST(Deepspeed, ReadsDefaultHostfileAndEnvironmentFiles) {
  LauncherFixture fixture = deepspeed();
  fixture.files["/job/hostfile"] = "a slots=1\nb slots=1\n";
  fixture.files["/home/u/.deepspeed_env"] = "A=secret\n";
  fixture.files["/cwd/.deepspeed_env"] = "B=secret\n";
  fixture.environment.emplace_back("PYTHONPATH=/lib");
  EXPECT_EQ(fixture.same({"--no_local_rank", "t.py"}),
            "--host a:1,b:1 --include a:0@b:0 -x PYTHONPATH=/cwd:/lib --env-file /home/u/.deepspeed_env --env-file "
            "/cwd/.deepspeed_env python3 -u t.py");
  fixture.environment.emplace_back("DS_ENV_FILE=/etc/ds_env");
  fixture.files["/etc/ds_env"] = "C=1\n";
  EXPECT_THAT(fixture.same({"t.py"}), AllOf(HasSubstr("--env-file /etc/ds_env"), Not(HasSubstr(".deepspeed_env"))));
  EXPECT_THAT(fixture.same({"--num_nodes=1", "t.py"}), Not(HasSubstr("--env-file")));
}

TEST(Deepspeed, ReadsVisibleDevicesAsInclude) {
  LauncherFixture fixture = deepspeed();
  fixture.environment.emplace_back("CUDA_VISIBLE_DEVICES=5,2");
  const Options chosen = fixture.options({"--no_local_rank", "t.py"});
  EXPECT_THAT(chosen.remarks,
              ElementsAre(AllOf(HasSubstr("env -u CUDA_VISIBLE_DEVICES dlaunch"), HasSubstr("-N 2 --devices 2,5"))));
  EXPECT_THAT(chosen.request.environment, Not(testing::Contains("CUDA_VISIBLE_DEVICES=5,2")));
  EXPECT_THAT(chosen.notes, IsEmpty());
  const Options ignored = fixture.options({"--num_gpus=2", "t.py"});
  EXPECT_THAT(ignored.remarks, ElementsAre(HasSubstr("--devices 0-1")));
  EXPECT_THAT(ignored.notes, ElementsAre(HasSubstr("CUDA_VISIBLE_DEVICES is ignored")));
  fixture.environment.back() = "CUDA_VISIBLE_DEVICES=GPU-8f6d";
  EXPECT_EQ(fixture.same({"--no_local_rank", "t.py"}), "-n devices python3 -u t.py");
}

TEST(Deepspeed, SplitsCoreListIntoEqualParts) {
  EXPECT_EQ(deepspeed()
                .options({"--num_gpus=2", "--bind_cores_to_rank", "--bind_core_list=0-2,8-9", "t.py"})
                .request.cpu_list,
            "p0-1/p2,8");
  EXPECT_EQ(deepspeed()
                .options({"-H", "hosts", "--num_gpus=2", "--bind_cores_to_rank", "--bind_core_list=0-3", "t.py"})
                .request.cpu_list,
            "p0-1/p2-3");
}

TEST(Deepspeed, PrintsNotesForOptionsWithoutEffect) {
  const Options options = deepspeed().options({"--launcher=openmpi", "--no_ssh_check", "--comment=c", "--account=a",
                                               "--log_level=info", "--master_addr=h", "--bind_core_list=0-3", "t.py"});
  EXPECT_THAT(
      options.notes,
      ElementsAre(HasSubstr("--launcher changes nothing here"), HasSubstr("--no_ssh_check changes"),
                  HasSubstr("--comment changes"), HasSubstr("--account changes"), HasSubstr("--log_level changes"),
                  HasSubstr("--master_addr changes nothing here"), HasSubstr("without --bind_cores_to_rank")));
  EXPECT_THAT(deepspeed().options({"-Hone", "t.py"}).notes,
              ElementsAre(HasSubstr("--force_multi starts the ranks on n1")));
  EXPECT_THAT(deepspeed().options({"-Hhosts", "--node_rank=1", "t.py"}).notes,
              ElementsAre(HasSubstr("without --no_ssh")));
  EXPECT_TRUE(deepspeed().options({"-q", "t.py"}).quiet);
}

class RefusedDeepspeedLine : public testing::TestWithParam<RefusedLine> {};

TEST_P(RefusedDeepspeedLine, HasMessage) {
  LauncherFixture fixture = deepspeed();
  fixture.files["/cwd/twice"] = "n1 slots=2\nn1 slots=2\n";
  fixture.files["/cwd/bare"] = "n1\n";
  fixture.files["/cwd/empty"] = "# empty\n";
  EXPECT_THAT(fixture.error(GetParam().args), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Words, RefusedDeepspeedLine,
    testing::Values(
        RefusedLine{{"-H", "none", "t.py"}, "cannot read /cwd/none"},
        RefusedLine{{"-H", "twice", "t.py"}, "twice:2: duplicate host \"n1\""},
        RefusedLine{{"-H", "bare", "t.py"}, "write n1 slots=8"}, RefusedLine{{"-H", "empty", "t.py"}, "missing host"},
        RefusedLine{{"-H", "hosts", "-i", "n3", "t.py"}, "--include: unknown host \"n3\""},
        RefusedLine{{"-H", "hosts", "-i", "n1:4", "t.py"}, "unknown device \"4\" of host n1"},
        RefusedLine{{"-H", "hosts", "-e", "n1@n2", "t.py"}, "--exclude: all devices are excluded"},
        RefusedLine{{"-H", "hosts", "-i", "n1:x", "t.py"}, "invalid device list \"n1:x\""},
        RefusedLine{{"-i", "n1", "-e", "n2", "t.py"}, "--include conflicts with --exclude"},
        RefusedLine{{"-i", "n1", "--num_gpus=1", "t.py"}, "--include conflicts with --num_gpus"},
        RefusedLine{{"-i", "x", "t.py"}, "invalid host list \"x\""},
        RefusedLine{{"--num_nodes=2", "t.py"}, "--num_nodes requires a hostfile"},
        RefusedLine{{"--no_ssh", "t.py"}, "add --node_rank 0"},
        RefusedLine{{"-H", "hosts", "--no_ssh", "--node_rank=2", "t.py"}, "invalid node number \"2\": expected 0 to 1"},
        RefusedLine{{"-H", "unlike", "--no_ssh", "--node_rank=0", "t.py"},
                    "--no_ssh requires the same devices on each host"},
        RefusedLine{{"--autotuning", "run", "t.py"}, "run deepspeed without dlaunch"},
        RefusedLine{{"--elastic_training", "t.py"}, "does not add or remove hosts"},
        RefusedLine{{"--min_elastic_nodes=1", "t.py"}, "does not add or remove hosts"},
        RefusedLine{{"--venv_script=v", "t.py"}, "activate the environment"},
        RefusedLine{{"--save_pid", "t.py"}, "--report-pid FILE"},
        RefusedLine{{"--launcher_args=-v", "t.py"}, "not supported: options of pdsh"},
        RefusedLine{{"--bind_cores_to_rank", "--bind_core_list=0-3", "t.py"}, "set --num_gpus N"},
        RefusedLine{{"-H", "unlike", "--bind_cores_to_rank", "--bind_core_list=0-3", "t.py"}, "set --num_gpus N"},
        RefusedLine{{"--num_gpus=8", "--bind_cores_to_rank", "--bind_core_list=0-6", "t.py"},
                    "invalid core list \"0-6\""},
        RefusedLine{{"--num_gpus=2", "--bind_cores_to_rank", "--bind_core_list=a", "t.py"},
                    "one core per rank of a host: 0-31,64-95"},
        RefusedLine{{"--module", "--no_python", "t.py"}, "--module conflicts with --no_python"},
        RefusedLine{{"--num-gpus=2", "t.py"}, "use --num_gpus"},
        RefusedLine{{"-f", "x", "t.py"}, "deepspeed: unknown option \"-f\""},
        RefusedLine{{"--num_gpus=x", "t.py"}, "--num_gpus: invalid number \"x\""},
        RefusedLine{{"--num_gpus=2"}, "missing program"}));

TEST(Deepspeed, IsChosenByTheFirstWord) {
  EXPECT_EQ(CommandLineFixture{}.options({"--as", "deepspeed", "--num_gpus=2", "t.py"}).request.ranks_per_host, 2);
  EXPECT_THAT(deepspeed().text({"--help"}), HasSubstr("-H, --hostfile FILE"));
}

TEST(Deepspeed, PageListsTheOptions) { expect_table_in("migrate/others.md", deepspeed_launcher()); }

}  // namespace
}  // namespace dlaunch::cli
