
#include "../hosts/entries.h"
#include "place/manager_row.h"
#include "place/place.h"
#include "place/slurm_gpus.h"
#include "place/slurm_hosts.h"

namespace dlaunch::place {
namespace {

using hosts::error_of;
using hosts::short_forms;
using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

/// Of the system that PBS_NODEFILE shows.
Result<Entries> of_pbs(const Environment& environment, const hosts::ReadText& read) {
  return read_place(environment, read).jobs.at(0).hosts();
}

/// "Slurm job 5"; "none" without a manager.
std::string manager(const Environment& environment) {
  const Place place = read_place(environment, {});
  return place.job() ? to_string(*place.job()) : "none";
}

Result<std::string> no_file(const std::string& path) {
  return fail({.where = path, .what = "cannot read", .why = "missing", .hint = ""});
}

std::vector<std::string> hosts(const Environment& environment, const hosts::ReadText& read = no_file) {
  const Place place = read_place(environment, read);
  if (!place.job()) return {"none"};
  const auto entries = place.job()->hosts();
  if (!entries) return {to_text(entries.error())};
  return short_forms(*entries);
}

std::string error(const Environment& environment) {
  const Place place = read_place(environment, no_file);
  return place.job() ? error_of(place.job()->hosts()) : "no manager";
}

TEST(ResourceManager, EmptyWithoutAManager) {
  EXPECT_THAT(hosts({"HOME=/", "SLURM_JOB_ID=1", "PBS_NODEFILE="}), ElementsAre("none"));
}

TEST(ResourceManager, ReadsNodesAndSlotsOfSlurm) {
  EXPECT_THAT(hosts({"SLURM_JOB_NODELIST=n[01-03],gpu_4", "SLURM_TASKS_PER_NODE=2(x3),1"}),
              ElementsAre("n01:2", "n02:2", "n03:2", "gpu_4:1"));
  EXPECT_THAT(hosts({"SLURM_NODELIST=a", "SLURM_TASKS_PER_NODE=4"}), ElementsAre("a:4"));
  EXPECT_THAT(hosts({"SLURM_JOB_NODELIST=a,b", "SLURM_JOB_CPUS_PER_NODE=16(x2)"}), ElementsAre("a:16", "b:16"));
  EXPECT_THAT(hosts({"SLURM_JOB_NODELIST=a,b", "SLURM_CPUS_ON_NODE=8"}), ElementsAre("a:8", "b:8"));
  const auto entries = read_slurm({"SLURM_NODELIST=a", "SLURM_TASKS_PER_NODE=4"});
  ASSERT_TRUE(entries);
  EXPECT_EQ((*entries)[0].from, "SLURM_TASKS_PER_NODE");
}

/// The variables of Slurm 22.05 for these options of salloc.
TEST(ResourceManager, SlotsOfASlurmNodeFollowItsOptions) {
  const auto of = [](const Environment& more) {
    Environment environment = {"SLURM_JOB_NODELIST=a,b"};
    environment.insert(environment.end(), more.begin(), more.end());
    return hosts(environment);
  };
  EXPECT_THAT(of({"SLURM_TASKS_PER_NODE=1(x2)", "SLURM_JOB_CPUS_PER_NODE=4(x2)"}), ElementsAre("a:4", "b:4"))
      << "-N 2 alone";
  EXPECT_THAT(of({"SLURM_TASKS_PER_NODE=1(x2)", "SLURM_JOB_CPUS_PER_NODE=4(x2)", "SLURM_NTASKS=2"}),
              ElementsAre("a:1", "b:1"))
      << "--ntasks-per-node=1";
  EXPECT_THAT(of({"SLURM_TASKS_PER_NODE=1(x2)", "SLURM_JOB_CPUS_PER_NODE=4(x2)", "SLURM_CPUS_PER_TASK=4"}),
              ElementsAre("a:1", "b:1"))
      << "--cpus-per-task=4";
  EXPECT_THAT(of({"SLURM_TASKS_PER_NODE=1(x2)", "SLURM_NTASKS=2", "SLURM_GPUS_PER_NODE=8"}), ElementsAre("a", "b"))
      << "--ntasks-per-node=1 --gpus-per-node=8: the nodes are asked";
  EXPECT_THAT(of({"SLURM_TASKS_PER_NODE=1(x2)", "SLURM_NTASKS=2", "SLURM_TRES_PER_TASK=cpu=1,gres/gpu=8"}),
              ElementsAre("a", "b"))
      << "--ntasks-per-node=1 --gpus-per-task=8 in Slurm 24.11";
  EXPECT_THAT(of({"SLURM_TASKS_PER_NODE=1(x2)", "SLURM_NTASKS=2", "SLURM_TRES_PER_TASK=cpu=4"}),
              ElementsAre("a:1", "b:1"))
      << "--ntasks-per-node=1 -c4 in Slurm 24.11";
  EXPECT_THAT(of({"SLURM_TASKS_PER_NODE=1(x2)", "SLURM_JOB_CPUS_PER_NODE=16(x2)", "SLURM_GPUS_PER_SOCKET=4"}),
              ElementsAre("a", "b"));
  EXPECT_THAT(of({"SLURM_TASKS_PER_NODE=7,1", "SLURM_NTASKS=8", "SLURM_GPUS_PER_TASK=1"}), ElementsAre("a:7", "b:1"));
  EXPECT_THAT(of({"SLURM_TASKS_PER_NODE=32(x2)", "SLURM_NTASKS=64"}), ElementsAre("a:32", "b:32"));
}

TEST(ResourceManager, MoreRanksThanTheOneTaskOfANodeAreNoOversubscription) {
  const auto entries =
      read_slurm({"SLURM_JOB_NODELIST=a", "SLURM_TASKS_PER_NODE=1", "SLURM_NTASKS=1", "SLURM_JOB_CPUS_PER_NODE=4"});
  ASSERT_TRUE(entries);
  EXPECT_EQ((*entries)[0].cpus, 4);
}

/// The variables of Slurm 22.05 in `srun -N1 -n1` in a job of two nodes: variables about tasks describe the step.
TEST(ResourceManager, AStepOfOneTaskHasTheJobsNodesAndSlots) {
  const auto of = [](const Environment& more) {
    Environment environment = {"SLURM_JOB_NODELIST=a,b", "SLURM_STEP_ID=0",        "SLURM_STEP_NUM_NODES=1",
                               "SLURM_STEP_NUM_TASKS=1", "SLURM_TASKS_PER_NODE=1", "SLURM_NTASKS=1"};
    environment.insert(environment.end(), more.begin(), more.end());
    return hosts(environment);
  };
  EXPECT_THAT(of({"SLURM_JOB_CPUS_PER_NODE=2(x2)", "SLURM_NTASKS_PER_NODE=2"}), ElementsAre("a:2", "b:2"))
      << "--ntasks-per-node=2";
  EXPECT_THAT(of({"SLURM_JOB_CPUS_PER_NODE=4(x2)", "SLURM_NTASKS_PER_NODE=2", "SLURM_CPUS_PER_TASK=2"}),
              ElementsAre("a:2", "b:2"))
      << "--ntasks-per-node=2 -c 2";
  EXPECT_THAT(of({"SLURM_JOB_CPUS_PER_NODE=4,1"}), ElementsAre("a:4", "b:1")) << "-n 5";
  EXPECT_THAT(of({"SLURM_JOB_CPUS_PER_NODE=8,2", "SLURM_CPUS_PER_TASK=2"}), ElementsAre("a:4", "b:1")) << "-n 5 -c 2";
  EXPECT_THAT(of({"SLURM_JOB_CPUS_PER_NODE=1(x2)", "SLURM_NTASKS_PER_NODE=1", "SLURM_GPUS_ON_NODE=3"}),
              ElementsAre("a", "b"))
      << "--ntasks-per-node=1 --gpus-per-node=3";
}

TEST(ResourceManager, ARankWithVariablesOfAStepHasTheJobsNodesAndSlots) {
  EXPECT_THAT(hosts({"SLURM_JOB_NODELIST=a,b", "SLURM_STEP_NUM_TASKS=1", "SLURM_TASKS_PER_NODE=1", "SLURM_NTASKS=1",
                     "SLURM_JOB_CPUS_PER_NODE=2(x2)", "SLURM_NTASKS_PER_NODE=2"}),
              ElementsAre("a:2", "b:2"));
}

TEST(ResourceManager, GpusOfASlurmJobsNodes) {
  const std::string shown =
      "JobId=5 JobName=x\n   NodeList=a[1-3],b\n     Nodes=a[1-2] CPU_IDs=0 Mem=100 GRES=gpu:4(IDX:0-1,4-5)\n"
      "     Nodes=a3 CPU_IDs=0-7 Mem=100 GRES=craynetwork:1,gpu:a100:1(IDX:2),gpu:v100:2(IDX:0-1)\n"
      "     Nodes=b CPU_IDs=0 Mem=100 GRES=\n   MinCPUsNode=1\n";
  const auto gpus = slurm_gpus(shown);
  ASSERT_TRUE(gpus);
  EXPECT_EQ(*gpus, (std::map<std::string, int>{{"a1", 4}, {"a2", 4}, {"a3", 3}}));
  EXPECT_TRUE(slurm_gpus("")->empty());
  EXPECT_FALSE(slurm_gpus("Nodes=a CPU_IDs=0 GRES=gpu:many"));
  EXPECT_FALSE(slurm_gpus("Nodes=a[1 CPU_IDs=0 GRES=gpu:4"));
}

TEST(ResourceManager, GroupsOfAHeterogeneousSlurmJobAreJoined) {
  EXPECT_THAT(hosts({"SLURM_JOB_ID=19", "SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n[1-2]",
                     "SLURM_TASKS_PER_NODE_HET_GROUP_0=2(x2)", "SLURM_JOB_NODELIST_HET_GROUP_1=n3",
                     "SLURM_TASKS_PER_NODE_HET_GROUP_1=3"}),
              ElementsAre("n1:2", "n2:2", "n3:3"));
  EXPECT_THAT(error({"SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=a", "SLURM_TASKS_PER_NODE_HET_GROUP_0=1"}),
              HasSubstr("HET_GROUP_1"));
  EXPECT_THAT(error({"SLURM_HET_SIZE=x"}), HasSubstr("SLURM_HET_SIZE"));
}

TEST(ResourceManager, RejectsSeveralCopies) {
  const auto copies = [](Environment environment) {
    environment.insert(environment.end(), {"SLURM_JOB_ID=5", "SLURM_JOB_NODELIST=a"});
    const auto error = read_place(environment, {}).copies;
    return error ? to_text(*error) : "";
  };
  EXPECT_THAT(copies({"SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=4"}),
              AllOf(HasSubstr("Slurm job 5"), HasSubstr("4 copies"), HasSubstr("srun -n 1")));
  EXPECT_EQ(copies({"SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=1"}), "");
  EXPECT_EQ(copies({"SLURM_STEP_ID=4294967290", "SLURM_STEP_NUM_TASKS=2"}), "") << "an interactive step";
  EXPECT_EQ(copies({}), "");
}

/// A file of Grid Engine 8.1.9, also with two queues on a host.
TEST(ResourceManager, ReadsTheHostFileOfGridEngine) {
  const auto read = [](const std::string& path) -> Result<std::string> {
    EXPECT_EQ(path, "/pe");
    return "n1 2 all.q@n1 UNDEFINED\nn2.x 4 all.q@n2.x <NULL>\r\nn1 1 more.q@n1 0,0:0,1\n\n";
  };
  const Environment job = {"SGE_ROOT=/sge", "PE_HOSTFILE=/pe", "JOB_ID=5", "SGE_TASK_ID=undefined"};
  EXPECT_THAT(hosts(job, read), ElementsAre("n1:2", "n2.x:4", "n1:1"));
  EXPECT_EQ(manager(job), "Grid Engine job 5");
  EXPECT_EQ(manager({"SGE_ROOT=/sge", "PE_HOSTFILE=/pe", "JOB_ID=5", "SGE_TASK_ID=2"}), "Grid Engine job 5.2");
  EXPECT_EQ(manager({"SGE_ROOT=/sge", "JOB_ID=5"}), "none") << "no parallel environment";
}

TEST(ResourceManager, RejectsInvalidGridEngineLists) {
  for (const char* text : {"", "n1\n", "n1 x\n", "n1 -1 all.q@n1\n", "-n1 2\n"}) {
    const auto read = [&](const std::string&) -> Result<std::string> { return text; };
    EXPECT_THAT(error_of(kGridEngine.hosts({"PE_HOSTFILE=/pe"}, read)), HasSubstr("--ignore-resource-manager")) << text;
  }
}

TEST(ResourceManager, PbsRepeatsAreSlots) {
  const auto read = [](const std::string& path) -> Result<std::string> {
    EXPECT_EQ(path, "/var/nodes");
    return "a\na\r\nb.x\n";
  };
  EXPECT_THAT(hosts({"PBS_NODEFILE=/var/nodes"}, read), ElementsAre("a:1", "a:1", "b.x:1"));
  EXPECT_EQ(of_pbs({"PBS_NODEFILE=/var/nodes"}, read)->at(2).reach.step, "-n 2")
      << "the number by which pbsdsh knows it";
}

TEST(ResourceManager, PbsAndCobaltMayHaveCountsAndRepeats) {
  const auto read = [](const std::string&) -> Result<std::string> { return "a:4\n\nb\r\na\n"; };
  EXPECT_THAT(hosts({"PBS_NODEFILE=/nodes"}, read), ElementsAre("a:4", "b:1", "a:1"));
  EXPECT_THAT(hosts({"COBALT_NODEFILE=/nodes"}, read), ElementsAre("a:4", "b:1", "a:1"));
  EXPECT_EQ(manager({"COBALT_NODEFILE=/nodes", "COBALT_JOBID=3"}), "Cobalt job 3");
  const auto wrong = [](const std::string&) -> Result<std::string> { return "a:x\n"; };
  EXPECT_THAT(error_of(of_pbs({"PBS_NODEFILE=/n"}, wrong)), HasSubstr("a:x"));
}

TEST(ResourceManager, TorqueNamesTheDevices) {
  std::string gpus = "b-gpu-x-gpu1\na-gpu3\na-gpu0\n";
  const auto read = [&](const std::string& path) -> Result<std::string> {
    if (path == "/gone") return fail({path, "cannot be read", "No such file or directory", ""});
    if (path == "/shut") return fail({path, "cannot be read", "Permission denied", ""});
    return path == "/gpus" ? gpus : "a\na\nb-gpu-x\nc\n";
  };
  const auto devices = [&](const std::string& file) {
    std::vector<std::optional<std::vector<int>>> found;
    auto entries = of_pbs({"PBS_NODEFILE=/n", "PBS_GPUFILE=" + file}, read);
    for (const hosts::HostEntry& entry : entries.value()) found.push_back(entry.devices);
    return found;
  };
  using Devices = std::vector<int>;
  EXPECT_THAT(devices("/gpus"), ElementsAre(Devices{0, 3}, std::nullopt, Devices{1}, Devices{}));
  EXPECT_THAT(devices("/gone"), testing::Each(std::nullopt));
  EXPECT_THAT(error_of(of_pbs({"PBS_NODEFILE=/n", "PBS_GPUFILE=/shut"}, read)),
              AllOf(HasSubstr("PBS_GPUFILE: cannot read "), HasSubstr("Permission denied")));
  gpus = "\n";
  EXPECT_THAT(devices("/gpus"), testing::Each(std::nullopt)) << "a job without GPUs";
  for (const char* text : {"a\n", "a-gpu\n", "a-gpux\n", "a-gpu-1\n", "d-gpu0\n"}) {
    gpus = text;
    EXPECT_THAT(error_of(of_pbs({"PBS_NODEFILE=/n", "PBS_GPUFILE=/gpus"}, read)), HasSubstr("PBS_GPUFILE")) << text;
  }
}

TEST(ResourceManager, ReadsFourSourcesOfLsf) {
  const auto read = [](const std::string& path) -> Result<std::string> {
    if (path == "/affinity") return "b 0,1,2,3\nb 4,5,6,7 0 2\na 0,1,2,3\n";
    if (path == "/djob") return "a\na\nb\n";
    return "";
  };
  EXPECT_THAT(hosts({"LSB_MCPU_HOSTS=a 4 b 2 "}), ElementsAre("a:4", "b:2"));
  EXPECT_THAT(hosts({"LSB_MCPU_HOSTS=a 4 b 0", "LSB_DJOB_HOSTFILE=/djob"}, read), ElementsAre("a:4", "b:0"));
  EXPECT_THAT(hosts({"LSB_DJOB_HOSTFILE=/djob", "LSB_HOSTS=c"}, read), ElementsAre("a:1", "a:1", "b:1"));
  EXPECT_THAT(hosts({"LSB_HOSTS=a a b"}), ElementsAre("a:1", "a:1", "b:1"));
  EXPECT_THAT(hosts({"LSB_MCPU_HOSTS=a 4 b 2", "LSB_AFFINITY_HOSTFILE=/affinity"}, read),
              ElementsAre("b:1", "b:1", "a:1"));
  EXPECT_THAT(hosts({"LSB_MCPU_HOSTS=a 4", "LSB_AFFINITY_HOSTFILE=/empty"}, read), ElementsAre("a:4"));
  EXPECT_THAT(error({"LSB_MCPU_HOSTS=a 4", "LSB_AFFINITY_HOSTFILE=/gone"}), HasSubstr("LSB_AFFINITY_HOSTFILE"));
  EXPECT_EQ(manager({"LSB_HOSTS=a", "LSB_JOBID=12"}), "LSF job 12");
}

TEST(ResourceManager, LsfNamesTheCpusOfEachRank) {
  std::string text = "b 0,1,2,3\n\nb 6,4 0 2\na 0\n";
  const auto read = [&](const std::string&) -> Result<std::string> { return text; };
  const auto places = [&] {
    std::vector<std::string> found;
    const auto made = kLsf.rank_places({"LSB_AFFINITY_HOSTFILE=/affinity"}, read);
    for (const plan::RankPlace& place : made.value()) {
      found.push_back(std::to_string(place.rank) + " " + place.host + " " + place.slots);
    }
    return found;
  };
  EXPECT_THAT(places(), ElementsAre("0 b p0-3", "1 b p4,6", "2 a p0"));
  text = "a 0\nb\n";
  EXPECT_THAT(places(), ElementsAre()) << "a line without CPUs";
  text = "";
  EXPECT_THAT(places(), ElementsAre());
  text = "a x\n";
  EXPECT_THAT(error_of(kLsf.rank_places({"LSB_AFFINITY_HOSTFILE=/affinity"}, read)),
              AllOf(HasSubstr("LSB_AFFINITY_HOSTFILE: invalid line"), HasSubstr("a x")));
  EXPECT_THAT(kLsf.rank_places({"LSB_MCPU_HOSTS=a 1"}, read).value(), testing::IsEmpty());
}

TEST(ResourceManager, ReadsTheHostFileOfAKubernetesMpiJob) {
  const auto read = [](const std::string& path) -> Result<std::string> {
    EXPECT_EQ(path, "/etc/mpi/hostfile");
    return "pi-worker-0.pi.ns.svc slots=8\npi-worker-1.pi.ns.svc:4\n";
  };
  const std::string two[] = {"pi-worker-0.pi.ns.svc:8", "pi-worker-1.pi.ns.svc:4"};
  const std::string mounted = "=/etc/mpi/hostfile";
  const std::string pod = "KUBERNETES_SERVICE_HOST=10.96.0.1";
  EXPECT_THAT(hosts({"K_MPI_JOB_ROLE=launcher"}, read), ElementsAreArray(two));
  EXPECT_THAT(hosts({pod, "OMPI_MCA_orte_default_hostfile" + mounted}, read), ElementsAreArray(two));
  EXPECT_THAT(hosts({pod, "I_MPI_HYDRA_HOST_FILE" + mounted}, read), ElementsAreArray(two));
  EXPECT_THAT(hosts({pod, "HYDRA_HOST_FILE" + mounted}, read), ElementsAreArray(two));
  EXPECT_THAT(hosts({"OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh"}, read), ElementsAreArray(two));
  EXPECT_THAT(hosts({pod}), ElementsAre("none"));
  EXPECT_THAT(hosts({"HYDRA_HOST_FILE=/etc/hosts"}), ElementsAre("none")) << "in no pod";
  EXPECT_THAT(hosts({"K_MPI_JOB_ROLE=worker", "HYDRA_HOST_FILE=/etc/hosts"}), ElementsAre("none"));
}

/// The operator's script of v0.2.3, and other forms of the script.
TEST(ResourceManager, ReadsKubectlFromTheScriptOfAKubernetesMpiJob) {
  const auto kubectl_command = [](const std::string& script) {
    const auto read = [&](const std::string&) -> Result<std::string> { return script; };
    return kMpiJob.command_of_files({"OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh"}, read).value_or("");
  };
  EXPECT_EQ(kubectl_command("#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n"
                            "/opt/kube/kubectl exec ${POD_NAME} --container mpi -- /bin/sh -c \"$*\"\n"),
            "/opt/kube/kubectl exec -i {host} --container mpi --");
  EXPECT_EQ(kubectl_command("set -x; POD_NAME=$1; shift; kubectl -n a exec \"$POD_NAME\" -- sh -c \"$*\""),
            "kubectl -n a exec -i {host} --");
  EXPECT_EQ(kubectl_command("exec ssh $1 -- sh"), "");
  EXPECT_EQ(kubectl_command("kubectl exec pod -- sh"), "");
  EXPECT_EQ(kubectl_command(""), "");
}

TEST(ResourceManager, ReadsEachFileOnceAndOnlyIfNeeded) {
  int reads = 0;
  const auto read = [&](const std::string&) -> Result<std::string> {
    ++reads;
    return "a 0\nb 1\n";
  };
  const Place place = read_place({"LSB_MCPU_HOSTS=a 1 b 1", "LSB_AFFINITY_HOSTFILE=/affinity"}, read);
  EXPECT_EQ(reads, 0) << "a file may be on a disk that does not respond";
  EXPECT_THAT(short_forms(place.job()->hosts().value()), ElementsAre("a:1", "b:1"));
  for (int call = 0; call < 2; ++call) EXPECT_EQ(place.job()->rank_places().value().size(), 2);
  EXPECT_EQ(reads, 1);
}

TEST(ResourceManager, RejectsUnreadableListsWithAHint) {
  const Environment bad[] = {{"SLURM_JOB_NODELIST=n[1-2", "SLURM_TASKS_PER_NODE=1"},
                             {"SLURM_JOB_NODELIST=a,b", "SLURM_TASKS_PER_NODE=2"},
                             {"SLURM_JOB_NODELIST=a", "SLURM_TASKS_PER_NODE=2(x"},
                             {"SLURM_JOB_NODELIST=a", "SLURM_TASKS_PER_NODE=2(x1"},
                             {"SLURM_JOB_NODELIST=a", "SLURM_TASKS_PER_NODE=x"},
                             {"SLURM_JOB_NODELIST=a"},
                             {"SGE_ROOT=/sge", "PE_HOSTFILE=/gone"},
                             {"PBS_NODEFILE=/gone"},
                             {"LSB_MCPU_HOSTS=a"},
                             {"LSB_MCPU_HOSTS=a b"},
                             {"LSB_MCPU_HOSTS=-a 1"}};
  for (const Environment& environment : bad) {
    EXPECT_THAT(error(environment), HasSubstr("--ignore-resource-manager")) << environment[0];
  }
}

TEST(ResourceManager, RejectsJobsWithoutAListWithAHint) {
  const std::pair<Environment, const char*> jobs[] = {
      {{"SLURM_JOB_ID=5", "SLURM_NNODES=4", "SLURM_TASKS_PER_NODE=2(x4)"},
       "SLURM_JOB_NODELIST: not set: SLURM_JOB_ID and SLURM_NNODES show a job of Slurm"},
      {{"SLURM_JOBID=5", "SLURM_TASKS_PER_NODE=2(x4)"}, "SLURM_JOBID and SLURM_TASKS_PER_NODE show a job of Slurm"},
      {{"PBS_JOBID=12.server", "PBS_ENVIRONMENT=PBS_BATCH", "PBS_NODEFILE="},
       "PBS_NODEFILE: not set: PBS_JOBID and PBS_ENVIRONMENT show a job of PBS"},
      {{"LSB_JOBID=7"}, "LSB_MCPU_HOSTS: not set: LSB_JOBID shows a job of LSF"},
      {{"COBALT_JOBID=3"}, "COBALT_NODEFILE: not set: COBALT_JOBID shows a job of Cobalt"},
      {{"JOB_ID=5", "PE=orte", "NHOSTS=2", "SGE_ROOT=/sge"},
       "PE_HOSTFILE: not set: JOB_ID and NHOSTS=2 show a job of Grid Engine"},
      {{"PE_HOSTFILE=/pe"}, "SGE_ROOT: not set: PE_HOSTFILE shows a job of Grid Engine"}};
  for (const auto& [environment, said] : jobs) {
    EXPECT_EQ(manager(environment), "none") << said;
    const auto error = read_place(environment, {}).unlisted;
    ASSERT_TRUE(error) << said;
    EXPECT_THAT(to_text(*error), AllOf(HasSubstr(said), HasSubstr("-H"), HasSubstr("--ignore-resource-manager")));
    Environment nested = environment;
    nested.emplace_back("DLAUNCH_RANK=0");
    EXPECT_FALSE(read_place(nested, {}).unlisted) << said;
  }
}

TEST(ResourceManager, LoginShellsAreNotJobs) {
  for (const Environment& shell : {Environment{},
                                   {"SLURM_JOB_ID=5", "SLURM_CONF=/etc/slurm/slurm.conf"},
                                   {"SLURM_NNODES=4", "SLURM_TASKS_PER_NODE=2(x4)"},
                                   {"SLURM_JOB_ID=5", "SLURM_JOB_CPUS_PER_NODE=4"},
                                   {"SGE_ROOT=/sge", "SGE_CELL=default", "JOB_ID=5", "NHOSTS=1"},
                                   {"SGE_ROOT=/sge", "NHOSTS=2"},
                                   {"PBS_JOBID=12.server"},
                                   {"PBS_ENVIRONMENT=PBS_BATCH"},
                                   {"LSF_BINDIR=/lsf", "LSF_ENVDIR=/lsf"}}) {
    EXPECT_FALSE(read_place(shell, {}).unlisted) << (shell.empty() ? "" : shell.front());
  }
}

TEST(Flux, IsAnInstanceButNotATask) {
  EXPECT_EQ(manager({"FLUX_URI=local:///x"}), "Flux");
  EXPECT_EQ(manager({"FLUX_URI=local:///x", "PBS_NODEFILE=/n", "PBS_JOBID=4"}), "Flux") << "the inner one";
  EXPECT_EQ(manager({"FLUX_URI="}), "none");
  EXPECT_EQ(manager({"FLUX_URI=local:///x", "FLUX_TASK_RANK=0", "FLUX_JOB_SIZE=1"}), "none") << "this machine's share";
  const Environment task = {"FLUX_URI=local:///x", "FLUX_TASK_RANK=0", "FLUX_JOB_SIZE=4"};
  EXPECT_THAT(to_text(read_place(task, {}).copies.value()), HasSubstr("flux run started 4 copies"));
  EXPECT_FALSE(read_place({"FLUX_URI=local:///x"}, {}).copies);
}

}  // namespace
}  // namespace dlaunch::place
