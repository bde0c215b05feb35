// The questions of settle_job() and settle_hosts(), and the results of the answers, in any order of the answers.
#include "settle/settle.h"

#include <random>

#include "command_line_fixture.h"
#include "settle/hosts.h"

namespace dlaunch::settle {
namespace {

using cli::CommandLineFixture;
using cli::Words;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A machine with four CPUs, its programs and its hosts. Records each question once as a text.
class World {
 public:
  CommandLineFixture line;
  std::map<std::string, std::string> programs;  ///< by name: paths
  std::map<std::string, std::string> commands;  ///< by line: stdout
  std::map<std::string, std::string> files;
  std::set<std::string> existing;
  std::map<std::string, std::vector<std::string>> addresses;
  std::vector<int> devices;  ///< of each other host
  std::vector<std::string> asked;
  std::mt19937 random{1};
  enum class Order { all, first, random } order = Order::all;

  Result<std::pair<SettledJob, plan::Allocation>> settled(const Words& words) {
    asked.clear();
    const auto text = [this](const std::string& path) { return read(path); };
    const place::Place place = place::read_place(line.environment, text);
    const cli::Options options = line.options(words);
    Facts facts;
    const SettledJob job = TRY(answered(facts, [&] { return settle_job(options, place, facts); }));
    const auto allocation = TRY(answered(facts, [&] { return settle_hosts(job, place, facts); }));
    return std::pair(job, allocation);
  }

 private:
  Result<std::string> read(const std::string& path) const {
    const auto found = files.find(path);
    if (found == files.end()) return fail({.where = "", .what = "cannot read " + path, .why = "", .hint = ""});
    return found->second;
  }

  template <class Settle>
  auto answered(Facts& facts, const Settle& settle) -> Result<typename std::invoke_result_t<Settle>::value_type> {
    while (true) {
      auto result = settle();
      if (result) return *result;
      if (const auto* error = std::get_if<Error>(&result.error())) return fail(*error);
      auto open = std::get<std::vector<Question>>(result.error());
      EXPECT_THAT(open, testing::Not(IsEmpty()));
      if (order == Order::random) std::ranges::shuffle(open, random);
      if (order != Order::all) open.resize(1);
      for (const Question& question : open) {
        if (facts.knows(question)) continue;  // a name may be asked twice at once
        std::visit([&](const auto& each) { facts.add(each, answer(each)); }, question);
      }
    }
  }

  InspectMachine::Answer answer(const InspectMachine& /*question*/) {
    asked.emplace_back("machine");
    plan::Allocation allocation;
    plan::Host& here = allocation.hosts.emplace_back();
    here.name = "here";
    here.local = true;
    here.slots = 4;
    here.slots_from = "affinity mask";
    return allocation;
  }
  FindOwnNames::Answer answer(const FindOwnNames& /*question*/) {
    asked.emplace_back("names");
    return {{"here"}, {"10.0.0.1"}};
  }
  LookUp::Answer answer(const LookUp& question) {
    asked.push_back("look up " + question.name);
    return {addresses[question.name], ""};
  }
  FindProgram::Answer answer(const FindProgram& question) {
    asked.push_back("find " + question.name);
    return programs[question.name];
  }
  RunCommand::Answer answer(const RunCommand& question) {
    asked.push_back("run " + question.line);
    return {commands[question.line], ""};
  }
  ReadFile::Answer answer(const ReadFile& question) {
    asked.push_back("read " + question.path);
    return read(question.path);
  }
  FindFiles::Answer answer(const FindFiles& question) {
    const std::string path = question.paths.empty() ? "" : question.paths.front();
    asked.push_back("files " + path);
    return existing.contains(path);
  }
  ReadStaged::Answer answer(const ReadStaged& /*question*/) {
    asked.emplace_back("staged");
    return nullptr;
  }
  FindTerminal::Answer answer(const FindTerminal& question) {
    asked.push_back("terminal " + std::to_string(question.fd));
    return true;
  }
  ReadClocks::Answer answer(const ReadClocks& /*question*/) {
    asked.emplace_back("clocks");
    return {Time(std::chrono::seconds(100)), 1'000'000'000'000};
  }
  NameJob::Answer answer(const NameJob& /*question*/) { return "job"; }
  QueryHosts::Answer answer(const QueryHosts& question) {
    QueryHosts::Answer found;
    std::string names;
    for (size_t i = 0; i < question.queries.size(); ++i) {
      found.emplace_back();
      if (!question.queries[i]) continue;
      names += ' ' + question.hosts[i].name;
      found.back().emplace();
      found.back()->cpus = 8;
      found.back()->cpus_from = "affinity mask";
      found.back()->device_kind = static_cast<std::uint8_t>(plan::DeviceKind::nvidia);
      found.back()->devices.assign(devices.begin(), devices.end());
      found.back()->devices_from = "/dev/nvidia*";
    }
    asked.push_back("hosts" + names);
    return found;
  }
};

std::vector<std::string> hosts_of(const plan::Allocation& allocation) {
  std::vector<std::string> hosts;
  for (const plan::Host& host : allocation.hosts) {
    hosts.push_back(host.name + ':' + std::to_string(host.slots) + (host.local ? " here" : ""));
  }
  return hosts;
}

TEST(Settle, AsksOnlyForThisMachineWithoutHosts) {
  World world;
  const auto settled = world.settled({"-n", "2", "true"});
  ASSERT_TRUE(settled);
  EXPECT_THAT(hosts_of(settled->second), ElementsAre("here:4 here"));
  EXPECT_THAT(world.asked, ElementsAre("machine"));
  EXPECT_TRUE(only_here(settled->first, {}));
  EXPECT_EQ(settled->first.options.request.job_id, "job");
}

TEST(Settle, AsksHostsForTheirSlots) {
  World world;
  world.line.files["/cwd/hosts"] = "here\nb\n";
  const auto settled = world.settled({"--hostfile", "hosts", "true"});
  ASSERT_TRUE(settled);
  EXPECT_THAT(hosts_of(settled->second), ElementsAre("here:4 here", "b:8"));
  EXPECT_THAT(world.asked, ElementsAre("machine", "names", "hosts b"));
}

TEST(Settle, LooksUpNamesThatMayBeThisMachine) {
  World world;
  world.addresses["here.domain"] = {"10.0.0.1"};
  const auto settled = world.settled({"-H", "here.domain:2,b:2", "true"});
  ASSERT_TRUE(settled);
  EXPECT_THAT(hosts_of(settled->second), ElementsAre("here.domain:2 here", "b:2"));
  EXPECT_THAT(world.asked, ElementsAre("machine", "names", "look up here.domain"));
}

TEST(Settle, UsesTheCommandOfABatchSystem) {
  World world;
  world.line.environment = {"HOME=/home/u", "SLURM_JOB_ID=5", "SLURM_JOB_NODELIST=s[1-2]",
                            "SLURM_TASKS_PER_NODE=2(x2)"};
  world.programs["srun"] = "/usr/bin/srun";
  const auto settled = world.settled({"--dry-run", "true"});
  ASSERT_TRUE(settled) << to_text(settled.error());
  EXPECT_TRUE(settled->first.way.by_manager());
  EXPECT_EQ(settled->first.way.program, "srun");
  EXPECT_TRUE(settled->second.by_manager);
  EXPECT_THAT(settled->second.remarks, ElementsAre("Slurm job 5: 2 nodes × 2 slots, by srun"));
  world.programs.clear();
  const auto by_ssh = world.settled({"--dry-run", "true"});
  ASSERT_TRUE(by_ssh);
  EXPECT_FALSE(by_ssh->first.way.by_manager());
  EXPECT_THAT(by_ssh->second.remarks, ElementsAre("Slurm job 5: 2 nodes × 2 slots, by ssh"));
  EXPECT_THAT(to_text(world.settled({"--transport", "slurm", "true"}).error()),
              HasSubstr("--transport slurm: cannot connect to hosts with srun: program \"srun\": not found"));
}

TEST(Settle, TakesTheFirstAttemptWithoutFiles) {
  World world;
  world.line.environment = {"HOME=/home/u", "DLAUNCH_ATTEMPT=1"};
  world.existing = {"/cwd/r.json.attempt.0", "/cwd/r.json.attempt.1"};
  const auto counted = world.settled({"--report", "r.json", "true"});
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->first.options.request.attempt, 1);
  EXPECT_EQ(counted->first.options.output.keep_logs, 0);
}

TEST(Settle, SkipsTheAttemptsOfASystemThatDoesNotCount) {
  World world;
  world.line.environment = {"HOME=/home/u", "LSB_RESTART=Y"};
  for (int attempt = 0; attempt < 450; ++attempt)
    world.existing.insert("/cwd/r.json.attempt." + std::to_string(attempt));
  const auto settled = world.settled({"--report", "r.json", "true"});
  ASSERT_TRUE(settled);
  EXPECT_EQ(settled->first.options.request.attempt, 451);
  const auto without = world.settled({"true"});
  ASSERT_TRUE(without);
  EXPECT_EQ(without->first.options.request.attempt, 1);
}

TEST(Settle, KnowsThatABatchSystemMaySignalTheJob) {
  World world;
  EXPECT_FALSE(world.settled({"true"})->first.options.policy.in_batch_job);
  world.line.environment = {"HOME=/home/u", "SLURM_JOB_ID=5", "SLURM_JOB_NODELIST=s[1-2]",
                            "SLURM_TASKS_PER_NODE=2(x2)"};
  EXPECT_TRUE(world.settled({"--dry-run", "true"})->first.options.policy.in_batch_job);
  world.line.environment = {"HOME=/home/u", "KUBERNETES_SERVICE_HOST=10.0.0.1"};
  EXPECT_TRUE(world.settled({"true"})->first.options.policy.in_batch_job);
}

TEST(Settle, AsksForATerminalOnlyWithPty) {
  World world;
  const auto settled = world.settled({"--pty", "true"});
  ASSERT_TRUE(settled);
  EXPECT_TRUE(settled->first.options.keys);
  EXPECT_THAT(world.asked, ElementsAre("terminal 0", "machine"));
}

TEST(Settle, AsksNodesForDevicesIfRanksGetThem) {
  World world;
  world.line.environment = {"HOME=/home/u", "PBS_JOBID=1", "PBS_NODEFILE=/nodes", "PBS_ENVIRONMENT=PBS_BATCH"};
  world.files["/nodes"] = "a\nb\n";
  world.programs["pbs_tmrsh"] = "/usr/bin/pbs_tmrsh";
  world.devices = {0, 1};
  const auto settled = world.settled({"--visible", "rank", "true"});
  ASSERT_TRUE(settled) << to_text(settled.error());
  EXPECT_TRUE(settled->second.by_manager);
  EXPECT_THAT(settled->second.hosts.at(0).devices, ElementsAre(0, 1));
  EXPECT_EQ(std::ranges::count(world.asked, "hosts a b"), 1);
  const auto without = world.settled({"true"});
  ASSERT_TRUE(without);
  EXPECT_THAT(without->second.hosts.at(0).devices, IsEmpty());
  EXPECT_EQ(std::ranges::count(world.asked, "hosts a b"), 0);
}

/// Every order of answers gives the same questions and the same result.
TEST(Settle, DoesNotDependOnTheOrderOfTheAnswers) {
  World world;
  world.line.environment = {"HOME=/home/u", "SLURM_JOB_ID=5", "SLURM_JOB_NODELIST=s[1-3]", "SLURM_TASKS_PER_NODE=2(x3)",
                            "SLURM_GPUS=3"};
  world.line.files["/cwd/hosts"] = "here.a\nhere.b\nc\n";
  world.programs["srun"] = "/usr/bin/srun";
  world.addresses["here.a"] = {"10.0.0.1"};
  world.devices = {0};
  const std::vector<Words> lines = {{"true"},
                                    {"--hostfile", "hosts", "true"},
                                    {"-H", "here.a,here.b,here.c,d:*", "true"},
                                    {"--checkpoint-signal", "USR1", "true"},
                                    {"--include", "s1@here.x", "true"},
                                    {"--pty", "--hostfile", "hosts", "true"}};
  for (const Words& words : lines) {
    const auto seen = [&](World::Order order) {
      world.order = order;
      const auto settled = world.settled(words);
      std::ranges::sort(world.asked);
      const auto hosts = settled ? hosts_of(settled->second) : std::vector<std::string>{to_text(settled.error())};
      return std::pair(world.asked, hosts);
    };
    const auto at_once = seen(World::Order::all);
    EXPECT_EQ(seen(World::Order::first), at_once) << testing::PrintToString(words);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(seen(World::Order::random), at_once) << testing::PrintToString(words);
    EXPECT_EQ(std::ranges::adjacent_find(at_once.first), at_once.first.end()) << testing::PrintToString(words);
  }
}

}  // namespace
}  // namespace dlaunch::settle
