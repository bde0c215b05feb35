#include "plan/frameworks.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "base/environment.h"
#include "plan/environment.h"
#include "plan/framework_table.h"
#include "requests.h"

namespace dlaunch::plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

using Words = std::vector<std::string>;

/// n0 is this machine, n1 is another machine.
Allocation two_hosts() {
  Allocation two = hosts({2, 2});
  two.hosts[0].local = true;
  return two;
}

const Rendezvous kMeeting = {.here = "10.0.0.1", .ports = {20001, 20002, 20003, 20004, 20005, 20006}};

Plan planned(Request asked, const Allocation& allocation) {
  auto plan = make_plan(asked, allocation);
  if (!plan) {
    ADD_FAILURE() << to_text(plan.error());
    return {};
  }
  auto complete = with_frameworks(*std::move(plan), kMeeting);
  EXPECT_TRUE(complete) << to_text(complete.error());
  return complete.value_or(Plan{});
}

/// The variables of a rank that --env-for adds.
Words added(const Request& asked, const Allocation& allocation, int rank) {
  Request plain = asked;
  plain.frameworks.clear();
  const auto environment = [&](const Plan& plan) {
    Words all = rank_environment(plan, plan.ranks.at(static_cast<size_t>(rank)));
    std::ranges::sort(all);
    return all;
  };
  const Words with = environment(planned(asked, allocation));
  const Words without = environment(planned(plain, allocation));
  Words found;
  std::ranges::set_difference(with, without, std::back_inserter(found));
  return found;
}

Request request_for(std::vector<Framework> frameworks, int ranks) {
  Request asked = request(ranks);
  asked.frameworks = std::move(frameworks);
  return asked;
}

Words on_one_host(Framework framework) { return added(request_for({framework}, 2), local(2), 1); }

Words on_two_hosts(Framework framework, int rank) { return added(request_for({framework}, 4), two_hosts(), rank); }

TEST(Frameworks, SetsVariablesOfTorch) {
  EXPECT_THAT(on_one_host(Framework::torch),
              UnorderedElementsAre("RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", "GROUP_RANK=0",
                                   "GROUP_WORLD_SIZE=1", "NODE_RANK=0", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=20001"));
  EXPECT_THAT(on_two_hosts(Framework::torch, 2),
              UnorderedElementsAre("RANK=2", "WORLD_SIZE=4", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2", "GROUP_RANK=1",
                                   "GROUP_WORLD_SIZE=2", "NODE_RANK=1", "MASTER_ADDR=10.0.0.1", "MASTER_PORT=20001"));
}

TEST(Frameworks, SetsVariablesOfDeepspeed) {
  EXPECT_THAT(on_one_host(Framework::deepspeed),
              UnorderedElementsAre("RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1", "LOCAL_SIZE=2", "CROSS_RANK=0",
                                   "CROSS_SIZE=1", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=20001"));
  EXPECT_THAT(on_two_hosts(Framework::deepspeed, 3),
              UnorderedElementsAre("RANK=3", "WORLD_SIZE=4", "LOCAL_RANK=1", "LOCAL_SIZE=2", "CROSS_RANK=1",
                                   "CROSS_SIZE=2", "MASTER_ADDR=10.0.0.1", "MASTER_PORT=20001"));
}

TEST(Frameworks, SetsVariablesOfJax) {
  EXPECT_THAT(on_one_host(Framework::jax), UnorderedElementsAre("JAX_COORDINATOR_ADDRESS=127.0.0.1:20002",
                                                                "JAX_NUM_PROCESSES=2", "JAX_PROCESS_ID=1"));
  EXPECT_THAT(on_two_hosts(Framework::jax, 3), UnorderedElementsAre("JAX_COORDINATOR_ADDRESS=10.0.0.1:20002",
                                                                    "JAX_NUM_PROCESSES=4", "JAX_PROCESS_ID=3"));
  EXPECT_THAT(added(request_for({Framework::jax}, 2), local(2, 2), 1), Contains("JAX_LOCAL_DEVICE_IDS=1"));
}

TEST(Frameworks, SetsVariablesOfTensorflow) {
  EXPECT_THAT(on_one_host(Framework::tensorflow),
              ElementsAre(R"(TF_CONFIG={"cluster":{"worker":["127.0.0.1:20005","127.0.0.1:20006"]},)"
                          R"("task":{"type":"worker","index":1}})"));
  const std::string first = std::to_string(unseen_port("job-1", 4));
  const std::string second = std::to_string(unseen_port("job-1", 5));
  EXPECT_THAT(on_two_hosts(Framework::tensorflow, 2),
              ElementsAre(R"(TF_CONFIG={"cluster":{"worker":["10.0.0.1:20005","10.0.0.1:20006","n1:)" + first +
                          R"(","n1:)" + second + R"("]},"task":{"type":"worker","index":2}})"));
}

TEST(Frameworks, SetsVariablesOfMindsporeWithARankTable) {
  EXPECT_THAT(on_one_host(Framework::mindspore), ElementsAre("DEVICE_NUM=2"));
  EXPECT_THAT(on_two_hosts(Framework::mindspore, 2), ElementsAre("DEVICE_NUM=2"));
  const Plan plan = planned(request_for({Framework::mindspore}, 4), two_hosts());
  EXPECT_THAT(rank_environment(plan, plan.ranks[3]),
              testing::IsSupersetOf({"RANK_ID=3", "RANK_SIZE=4", "DEVICE_ID=1", "DEVICE_NUM=2"}));
}

TEST(Frameworks, SetsVariablesOfMindsporeWithAScheduler) {
  EXPECT_THAT(on_one_host(Framework::mindspore_dynamic),
              UnorderedElementsAre("MS_ROLE=MS_WORKER", "MS_SCHED_HOST=127.0.0.1", "MS_SCHED_PORT=20004",
                                   "MS_WORKER_NUM=2", "MS_NODE_ID=1"));
  Request asked = request_for({Framework::mindspore_dynamic}, 4);
  const Plan plan = planned(asked, two_hosts());
  ASSERT_TRUE(plan.sidecar);
  EXPECT_EQ(plan.sidecar->name, "scheduler");
  EXPECT_EQ(plan.sidecar->host, 0);
  EXPECT_THAT(plan.sidecar->env, UnorderedElementsAre("DLAUNCH_JOB_ID=job-1", "MS_ROLE=MS_SCHED"));
  EXPECT_THAT(plan.apps[0].env, testing::IsSupersetOf({"MS_SCHED_HOST=10.0.0.1", "MS_WORKER_NUM=4"}));
  EXPECT_EQ(plan.ranks.size(), 4U);
  EXPECT_THAT(to_json(plan), HasSubstr("\"sidecar\""));
  EXPECT_THAT(to_table(plan), HasSubstr("a scheduler on n0"));
  EXPECT_FALSE(planned(request_for({Framework::torch}, 2), local(2)).sidecar);
}

TEST(Frameworks, ADynamicClusterSeesTheDevicesOfItsRanks) {
  Allocation allocation = local(8, 8);
  allocation.hosts[0].devices = {4, 5};
  const Plan plan = planned(request_for({Framework::mindspore_dynamic}, 2), allocation);
  EXPECT_EQ(plan.visible, Visible::host);
  EXPECT_THAT(plan.ranks[1].env, Contains("ASCEND_RT_VISIBLE_DEVICES=4,5"));
}

TEST(Frameworks, HorovodHasItsRendezvousServer) {
  EXPECT_THAT(on_one_host(Framework::horovod),
              UnorderedElementsAre("HOROVOD_RANK=1", "HOROVOD_SIZE=2", "HOROVOD_LOCAL_RANK=1", "HOROVOD_LOCAL_SIZE=2",
                                   "HOROVOD_CROSS_RANK=0", "HOROVOD_CROSS_SIZE=1", "HOROVOD_HOSTNAME=here",
                                   "HOROVOD_CONTROLLER=gloo", "HOROVOD_CPU_OPERATIONS=gloo",
                                   "HOROVOD_GLOO_RENDEZVOUS_ADDR=127.0.0.1", "HOROVOD_GLOO_RENDEZVOUS_PORT=20003"));
  EXPECT_THAT(on_two_hosts(Framework::horovod, 2),
              UnorderedElementsAre("HOROVOD_RANK=2", "HOROVOD_SIZE=4", "HOROVOD_LOCAL_RANK=0", "HOROVOD_LOCAL_SIZE=2",
                                   "HOROVOD_CROSS_RANK=1", "HOROVOD_CROSS_SIZE=2", "HOROVOD_HOSTNAME=n1",
                                   "HOROVOD_CONTROLLER=gloo", "HOROVOD_CPU_OPERATIONS=gloo",
                                   "HOROVOD_GLOO_RENDEZVOUS_ADDR=10.0.0.1", "HOROVOD_GLOO_RENDEZVOUS_PORT=20003"));
  const Plan plan = planned(request_for({Framework::horovod}, 1), local(1));
  ASSERT_TRUE(plan.sidecar);
  EXPECT_EQ(plan.sidecar->name, "rendezvous server");
  EXPECT_EQ(plan.sidecar->argv.front(), "python3");
  EXPECT_TRUE(plan.sidecar->serves);
}

TEST(Frameworks, HorovodCountsHostsThatHaveTheLocalRank) {
  Allocation uneven = hosts({1, 3, 2});
  const Request asked = request_for({Framework::horovod}, 6);
  EXPECT_THAT(added(asked, uneven, 5), testing::IsSupersetOf({"HOROVOD_CROSS_RANK=1", "HOROVOD_CROSS_SIZE=2"}));
  EXPECT_THAT(added(asked, uneven, 3), testing::IsSupersetOf({"HOROVOD_CROSS_RANK=0", "HOROVOD_CROSS_SIZE=1"}));
  EXPECT_THAT(added(asked, uneven, 4), testing::IsSupersetOf({"HOROVOD_CROSS_RANK=2", "HOROVOD_CROSS_SIZE=3"}));
}

TEST(Frameworks, SetsVariablesOfOpenmpi) {
  EXPECT_THAT(
      on_one_host(Framework::openmpi),
      UnorderedElementsAre("OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=1",
                           "OMPI_COMM_WORLD_LOCAL_SIZE=2", "OMPI_COMM_WORLD_NODE_RANK=1", "OMPI_UNIVERSE_SIZE=2"));
  EXPECT_THAT(
      added(request_for({Framework::openmpi}, 3), two_hosts(), 2),
      UnorderedElementsAre("OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=3", "OMPI_COMM_WORLD_LOCAL_RANK=0",
                           "OMPI_COMM_WORLD_LOCAL_SIZE=1", "OMPI_COMM_WORLD_NODE_RANK=0", "OMPI_UNIVERSE_SIZE=4"));
}

TEST(Frameworks, SetsVariablesOfMpich) {
  EXPECT_THAT(on_one_host(Framework::mpich),
              UnorderedElementsAre("PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2"));
  EXPECT_THAT(on_two_hosts(Framework::mpich, 2),
              UnorderedElementsAre("PMI_RANK=2", "PMI_SIZE=4", "MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=2"));
}

TEST(Frameworks, SetsVariablesOfSlurm) {
  const Words one = on_one_host(Framework::slurm);
  EXPECT_THAT(
      one, testing::UnorderedElementsAre(
               "SLURM_PROCID=1", "SLURM_LOCALID=1", "SLURM_NODEID=0", "SLURM_NTASKS=2", "SLURM_NPROCS=2",
               "SLURM_NNODES=1", "SLURM_STEP_NODELIST=127.0.0.1", "SLURM_STEP_NUM_NODES=1", "SLURM_STEP_NUM_TASKS=2",
               "SLURM_STEP_TASKS_PER_NODE=2", "SLURM_TASKS_PER_NODE=2", "SLURM_GTIDS=0,1", "SLURM_DISTRIBUTION=block",
               testing::MatchesRegex("SLURM_JOB_ID=[1-9][0-9]{8}")));
  EXPECT_THAT(on_two_hosts(Framework::slurm, 2),
              testing::UnorderedElementsAre(
                  "SLURM_PROCID=2", "SLURM_LOCALID=0", "SLURM_NODEID=1", "SLURM_NTASKS=4", "SLURM_NPROCS=4",
                  "SLURM_NNODES=2", "SLURM_STEP_NODELIST=10.0.0.1,n1", "SLURM_STEP_NUM_NODES=2",
                  "SLURM_STEP_NUM_TASKS=4", "SLURM_STEP_TASKS_PER_NODE=2(x2)", "SLURM_TASKS_PER_NODE=2(x2)",
                  "SLURM_GTIDS=2,3", "SLURM_DISTRIBUTION=block", testing::MatchesRegex("SLURM_JOB_ID=[1-9][0-9]{8}")));
}

TEST(Frameworks, SlurmsVariablesShowTheOrderOfRanks) {
  const auto shown = [](std::string_view places, int ranks) {
    Request asked = request_for({Framework::slurm}, ranks);
    for (int rank = 0; rank < static_cast<int>(places.size()); ++rank) {
      asked.rank_places.push_back(
          {.rank = rank, .host = std::string("n") + places[static_cast<size_t>(rank)], .slots = {}, .from = {}});
    }
    const Plan plan = planned(asked, hosts({2000, 2000}));
    const Words environment = rank_environment(plan, plan.ranks.front());
    return variable(environment, "SLURM_DISTRIBUTION").value_or("none") + ' ' +
           variable(environment, "SLURM_GTIDS").value_or("none");
  };
  EXPECT_EQ(shown("0011", 4), "block 0,1");
  EXPECT_EQ(shown("0101", 4), "cyclic 0,2");
  EXPECT_EQ(shown("01", 2), "cyclic 0") << "one rank per host";
  EXPECT_EQ(shown("0110", 4), "none 0,3");
  EXPECT_EQ(shown("", 1025), "block none") << "too long for a copy in each rank";
}

TEST(Frameworks, RanksOfASlurmJobHaveItsNumber) {
  Request asked = request_for({Framework::slurm}, 4);
  asked.environment = {"SLURM_JOB_ID=5"};
  Allocation nodes = two_hosts();
  const auto number = [&](int rank) {
    const Plan plan = planned(asked, nodes);
    return *variable(rank_environment(plan, plan.ranks.at(static_cast<size_t>(rank))), "SLURM_JOB_ID");
  };
  EXPECT_EQ(number(0), "5");
  EXPECT_EQ(number(3), "5") << "also over ssh";
  asked.no_environment = true;
  EXPECT_EQ(number(3), "5");
  asked.environment = {};
  EXPECT_EQ(number(3).size(), 9U);
  nodes.by_manager = true;
  nodes.manager = Manager{"Slurm", "6"};
  EXPECT_EQ(number(3), "6");
}

TEST(Frameworks, ExportedVariablesWinWithTheWholeEnvironment) {
  Request asked = request_for({Framework::torch}, 4);
  asked.whole_environment = true;
  asked.environment = {"MASTER_ADDR=mine", "RANK=7"};
  const Plan plan = planned(asked, two_hosts());
  for (const Rank& rank : plan.ranks) {
    const Words environment = rank_environment(plan, rank);
    EXPECT_THAT(environment, testing::IsSupersetOf({"MASTER_ADDR=mine", "RANK=7", "WORLD_SIZE=4"}));
    EXPECT_EQ(std::ranges::count(environment, "RANK", variable_name), 1);
  }
}

TEST(Frameworks, NumbersHostsFromTheHostOfRankZero) {
  Request asked = request_for({Framework::torch, Framework::slurm}, 2);
  asked.rank_places = {{.rank = 0, .host = "n1", .slots = {}, .from = {}},
                       {.rank = 1, .host = "n0", .slots = {}, .from = {}}};
  EXPECT_THAT(
      added(asked, two_hosts(), 0),
      testing::IsSupersetOf({"GROUP_RANK=0", "SLURM_NODEID=0", "SLURM_STEP_NODELIST=n1,10.0.0.1", "MASTER_ADDR=n1"}));
}

TEST(Frameworks, RemoteRankZeroGetsItsHostAndAnUncheckedPort) {
  const Words found = added(request_for({Framework::torch}, 4), hosts({2, 2}), 3);
  EXPECT_THAT(found, Contains("MASTER_ADDR=n0"));
  EXPECT_THAT(found, Contains("MASTER_PORT=" + std::to_string(unseen_port("job-1", 0))));
  EXPECT_THAT(added(request_for({Framework::torch}, 2), hosts({2}), 1), Contains("MASTER_ADDR=127.0.0.1"))
      << "all ranks are on one host";
}

TEST(Frameworks, PutsIpv6AddressesWithPortsInBrackets) {
  Allocation two = hosts({1, 1});
  two.hosts[0].name = "fd00::5";
  EXPECT_THAT(added(request_for({Framework::jax, Framework::torch}, 2), two, 1),
              testing::IsSupersetOf({"JAX_COORDINATOR_ADDRESS=[fd00::5]:" + std::to_string(unseen_port("job-1", 1)),
                                     std::string("MASTER_ADDR=fd00::5")}));
}

TEST(Frameworks, SeveralFrameworksAgree) {
  const Words both = added(request_for({Framework::torch, Framework::deepspeed}, 2), local(2), 1);
  EXPECT_EQ(both.size(), 12U);
  EXPECT_THAT(both, testing::IsSupersetOf({"LOCAL_WORLD_SIZE=2", "CROSS_SIZE=1", "RANK=1"}));
}

TEST(Frameworks, RemovesVariablesOfAnOuterLauncher) {
  for (const FrameworkSpec& spec : framework_table()) {
    Request asked = request_for({spec.framework}, 2);
    Words clean = added(asked, local(2), 1);
    std::erase_if(clean, [](const std::string& entry) { return variable_name(entry) == "SLURM_JOB_ID"; });  // stays
    for (const std::string& entry : clean) {
      if (entry.ends_with("NCCL_ASYNC_ERROR_HANDLING=1") || entry == "OMP_NUM_THREADS=1") continue;  // set by the user
      asked.environment.push_back(std::string(variable_name(entry)) + "=outer");
    }
    asked.environment.insert(asked.environment.end(),
                             {"TORCHELASTIC_USE_AGENT_STORE=True", "PMIX_NAMESPACE=x", "OMPI_COMMAND=python3",
                              "OMPI_COMM_WORLD_LOCAL_RANK=outer", "MS_ROLE=MS_SERVER", "HOROVOD_CYCLE_TIME=5"});
    const Plan plan = planned(asked, local(2));
    const Words all = rank_environment(plan, plan.ranks[1]);
    EXPECT_THAT(all, testing::IsSupersetOf(clean)) << spec.name;
    EXPECT_THAT(all, Not(Contains(testing::EndsWith("=outer")))) << spec.name;
    for (const char* name : {"TORCHELASTIC_USE_AGENT_STORE", "PMIX_", "OMPI_COMMAND", "MS_ROLE=MS_SERVER"}) {
      EXPECT_THAT(all, Not(Contains(StartsWith(name)))) << spec.name;
    }
    EXPECT_THAT(all, Contains("HOROVOD_CYCLE_TIME=5"));
    std::set<std::string_view> names;
    for (const std::string& entry : all) EXPECT_TRUE(names.insert(variable_name(entry)).second) << entry;
  }
}

/// --env-all of a launcher: its own variables replace those of an outer job, others stay.
TEST(Frameworks, LauncherSetsItsVariablesInTheWholeEnvironment) {
  for (const Framework framework : {Framework::torchrun, Framework::deepspeed, Framework::slurm, Framework::openmpi,
                                    Framework::mpich, Framework::horovod}) {
    Request asked = request_for({framework}, 2);
    asked.whole_environment = true;
    Words clean = added(asked, local(2), 1);
    std::erase_if(clean, [](const std::string& entry) { return variable_name(entry) == "SLURM_JOB_ID"; });
    for (const std::string& entry : clean) {
      if (entry.ends_with("NCCL_ASYNC_ERROR_HANDLING=1") || entry == "OMP_NUM_THREADS=1") continue;  // set by the user
      asked.environment.push_back(std::string(variable_name(entry)) + "=outer");
    }
    asked.environment.insert(asked.environment.end(), {"TF_CONFIG=mine", "MYRANK=mine"});
    const Plan plan = planned(asked, local(2));
    const Words all = rank_environment(plan, plan.ranks[1]);
    EXPECT_THAT(all, testing::IsSupersetOf(clean)) << to_string(framework);
    EXPECT_THAT(all, Not(Contains(testing::EndsWith("=outer")))) << to_string(framework);
    EXPECT_THAT(all, testing::IsSupersetOf({"TF_CONFIG=mine", "MYRANK=mine"})) << to_string(framework);
    std::set<std::string_view> names;
    for (const std::string& entry : all) EXPECT_TRUE(names.insert(variable_name(entry)).second) << entry;
  }
}

TEST(Frameworks, TorchrunKeepsTheUsersThreads) {
  const Plan alone = planned(request_for({Framework::torchrun}, 1), local(2));
  EXPECT_THAT(rank_environment(alone, alone.ranks[0]), Not(Contains(StartsWith("OMP_NUM_THREADS="))));
  EXPECT_THAT(alone.notes, testing::IsEmpty());
  Request asked = request_for({Framework::torchrun}, 2);
  const Plan two = planned(asked, local(2));
  EXPECT_THAT(rank_environment(two, two.ranks[1]), Contains("OMP_NUM_THREADS=1"));
  EXPECT_THAT(two.notes, testing::ElementsAre(testing::HasSubstr("OMP_NUM_THREADS=1")));
  asked.environment.emplace_back("OMP_NUM_THREADS=4");
  const Plan chosen = planned(asked, local(2));
  EXPECT_THAT(rank_environment(chosen, chosen.ranks[1]), Contains("OMP_NUM_THREADS=4"));
  EXPECT_THAT(chosen.notes, testing::IsEmpty());
}

TEST(Frameworks, RanksPerDeviceRequireDevices) {
  Request asked = request_for({Framework::torchrun}, 1);
  asked.apps[0].ranks.reset();
  asked.apps[0].for_devices = true;
  EXPECT_EQ(make_plan(asked, local(2, 4))->ranks.size(), 4u);
  EXPECT_EQ(make_plan(asked, local(2)).error().what,
            "not found on " + local(2).hosts[0].name + ": this command starts one rank per device");
}

TEST(Frameworks, WithoutFrameworksTheEnvironmentIsUnchanged) {
  Request asked = request(1);
  asked.environment = {"RANK=7", "OMPI_COMM_WORLD_RANK=7"};
  const Plan plan = planned(asked, local(1));
  EXPECT_THAT(rank_environment(plan, plan.ranks[0]), testing::IsSupersetOf({"RANK=7", "OMPI_COMM_WORLD_RANK=7"}));
}

TEST(Frameworks, TheUsersOwnValueWins) {
  Request asked = request_for({Framework::torch}, 4);
  asked.environment.insert(asked.environment.end(), {"WORLD_SIZE=9", "PMIX_RANK=3", "OMPI_COMM_WORLD_RANK=3"});
  asked.apps[0].env = {
      {"MASTER_PORT", "29500"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", {}}, {"PMIX_RANK", {}}, {"OMPI_*", {}}};
  const Plan plan = planned(asked, two_hosts());
  for (const size_t rank : {1U, 3U}) {
    const Words all = rank_environment(plan, plan.ranks[rank]);
    EXPECT_THAT(all, testing::IsSupersetOf(
                         {"MASTER_PORT=29500", "LOCAL_RANK=0", "WORLD_SIZE=9", "PMIX_RANK=3", "MASTER_ADDR=10.0.0.1"}));
    EXPECT_THAT(all, Not(Contains(StartsWith("OMPI_")))) << "a pattern brings nothing of an outer job";
  }
}

TEST(Frameworks, HostsMaySetSharedValuesButNotRankValues) {
  Allocation two = two_hosts();
  two.hosts[1].env = {"MASTER_ADDR=10.9.9.9"};
  EXPECT_THAT(added(request_for({Framework::torch}, 4), two, 1), Contains("MASTER_ADDR=10.0.0.1"));
  const Plan plan = planned(request_for({Framework::torch}, 4), two);
  EXPECT_THAT(rank_environment(plan, plan.ranks[2]), Contains("MASTER_ADDR=10.9.9.9"));
  two.hosts[1].env = {"LOCAL_RANK=0"};
  two.hosts[1].from = "hosts:2";
  const auto refused = with_frameworks(*make_plan(request_for({Framework::torch}, 4), two), kMeeting);
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_text(refused.error()), HasSubstr("hosts:2: not supported: env.LOCAL_RANK: each rank"));
}

TEST(Frameworks, RejectsHarmfulCombinations) {
  const auto refused = [](std::vector<Framework> frameworks, Visible visible = Visible::unchanged) {
    const auto error = refuse_combination(frameworks, visible);
    return error ? to_text(*error) : "";
  };
  EXPECT_THAT(refused({Framework::mpich, Framework::openmpi}), HasSubstr("openmpi conflicts with mpich"));
  EXPECT_THAT(refused({Framework::mindspore, Framework::openmpi}), HasSubstr("OMPI_COMM_WORLD_LOCAL_RANK"));
  EXPECT_THAT(refused({Framework::horovod, Framework::mpich}), HasSubstr("Horovod would use MPI"));
  EXPECT_THAT(refused({Framework::slurm, Framework::jax}), HasSubstr("jax conflicts with slurm"));
  EXPECT_EQ(refused({Framework::slurm}, Visible::rank), "") << "srun --gpus-per-task=1 does so";
  EXPECT_EQ(refused({Framework::torch, Framework::deepspeed, Framework::jax, Framework::mindspore}, Visible::rank), "");
  EXPECT_EQ(refused({Framework::slurm, Framework::openmpi}, Visible::host), "");
}

TEST(Frameworks, LocalRankIsTheDeviceNumberWithADevicePerRank) {
  Request asked = request_for({Framework::torch, Framework::jax, Framework::mindspore}, 2);
  asked.visible = Visible::rank;
  const Plan plan = planned(asked, local(2, 2));
  EXPECT_THAT(rank_environment(plan, plan.ranks[1]),
              testing::IsSupersetOf({"LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2", "JAX_LOCAL_DEVICE_IDS=0", "DEVICE_ID=0",
                                     "CUDA_VISIBLE_DEVICES=1", "DLAUNCH_LOCAL_RANK=1"}));
  asked.visible = Visible::host;
  const Plan host = planned(asked, local(2, 2));
  EXPECT_THAT(
      rank_environment(host, host.ranks[1]),
      testing::IsSupersetOf({"LOCAL_RANK=1", "JAX_LOCAL_DEVICE_IDS=1", "DEVICE_ID=1", "CUDA_VISIBLE_DEVICES=0,1"}));
}

TEST(Frameworks, RejectsListsAboveTheLimitOfLinux) {
  Allocation many;
  for (int i = 0; i < 3000; ++i) {
    many.hosts.push_back(host(std::string(60, 'n').append(std::to_string(i)), 1));
  }
  const auto plan = make_plan(request_for({Framework::tensorflow}, 3000), many);
  ASSERT_TRUE(plan);
  const auto refused = with_frameworks(*plan, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_text(refused.error()), HasSubstr("--env-for: variable TF_CONFIG too long"));
}

TEST(Frameworks, ParsesNamesOnce) {
  EXPECT_THAT(*parse_frameworks("jax, torch,jax"), ElementsAre(Framework::jax, Framework::torch));
  for (const FrameworkSpec& spec : framework_table()) {
    EXPECT_THAT(*parse_frameworks(to_string(spec.framework)), ElementsAre(spec.framework));
  }
  EXPECT_THAT(to_text(parse_frameworks("pytorch").error()), HasSubstr("use torch"));
  EXPECT_THAT(to_text(parse_frameworks("").error()), HasSubstr("use one or more of torch, torchrun, deepspeed"));
  EXPECT_THAT(*parse_frameworks("jax,auto"),
              ElementsAre(Framework::jax, Framework::torch, Framework::deepspeed, Framework::mindspore));
}

TEST(Frameworks, ReportNeededAddressAndPorts) {
  const auto needs = [](Framework framework, const Allocation& allocation, int ranks) {
    const auto plan = make_plan(request_for({framework}, ranks), allocation);
    return std::pair(needs_address(*plan), ports_needed(*plan));
  };
  EXPECT_EQ(needs(Framework::torch, local(2), 2), std::pair(false, 4));
  EXPECT_EQ(needs(Framework::torch, two_hosts(), 4), std::pair(true, 4));
  EXPECT_EQ(needs(Framework::torch, hosts({2, 2}), 4), std::pair(false, 0));
  EXPECT_EQ(needs(Framework::tensorflow, two_hosts(), 4), std::pair(true, 6));
  EXPECT_EQ(needs(Framework::openmpi, two_hosts(), 4), std::pair(false, 0));
  EXPECT_EQ(needs(Framework::slurm, two_hosts(), 4), std::pair(true, 0));
}

TEST(UnseenPort, DependsOnTheJobAndAvoidsTheEphemeralRange) {
  std::set<int> ports;
  for (int index = 0; index < 9400; ++index) ports.insert(unseen_port("job-1", index));
  EXPECT_EQ(ports.size(), 9400U);
  EXPECT_EQ(*ports.begin(), 20000);
  EXPECT_EQ(*ports.rbegin(), 29399);
  EXPECT_NE(unseen_port("job-1", 0), unseen_port("job-2", 0));
}

}  // namespace
}  // namespace dlaunch::plan
