// The cost of a job with many hosts in the launcher, without transports: CPU time linear in hosts and ranks, and small.
#include <gmock/gmock.h>

#include <ctime>
#include <functional>
#include <string>

#include "dlaunch/plan.h"
#include "job/job.h"
#include "launcher/frames.h"
#include "mpi/coordinators.h"
#include "report/record.h"
#include "report/summary.h"
#include "wire/codec.h"

namespace dlaunch::launcher {
namespace {

constexpr int kRanksAHost = 8;
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr int kHosts = 10'000;
#else
constexpr int kHosts = 1'000;  // an unoptimized build takes as long for this number
#endif

double cpu_seconds(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  };
  const double start = now();
  work();
  return now() - start;
}

plan::Plan plan_of(int hosts) {
  plan::Allocation allocation;
  allocation.slots_are_limits = true;
  for (int i = 0; i < hosts; ++i) {
    plan::Host host;
    host.name = "node" + std::to_string(i);
    host.slots = kRanksAHost;
    host.slots_from = "hosts:" + std::to_string(i + 1);
    allocation.hosts.push_back(std::move(host));
  }
  plan::Request request;
  request.job_id = "job-1";
  request.mpi = plan::Mpi::automatic;
  request.cwd = "/work";
  for (int i = 0; i < 40; ++i)
    request.environment.push_back("VARIABLE_" + std::to_string(i) + "=" + std::string(60, 'v'));
  request.apps = {{.argv = {"python3", "train.py"}, .ranks = hosts * kRanksAHost, .wdir = {}, .env = {}}};
  auto plan = plan::make_plan(request, allocation);
  if (!plan) throw std::runtime_error(to_text(plan.error()));
  return *std::move(plan);
}

job::Job job_of(const plan::Plan& plan) {
  std::vector<int> host_of_rank;
  std::vector<std::string> names;
  for (const plan::Rank& rank : plan.ranks) host_of_rank.push_back(rank.host);
  for (const plan::PlannedHost& planned : plan.hosts) names.push_back(planned.host.name);
  return {{}, std::move(host_of_rank), std::move(names), Time{}};
}

struct Story {
  int hosts;
  plan::Plan plan = plan_of(hosts);
  job::Job job = job_of(plan);

  int ranks() const { return static_cast<int>(plan.ranks.size()); }
  void say(const job::Event& event) { (void)job.handle(event, Time{}); }
  void start() {
    for (int host = 0; host < hosts; ++host) say(job::HostReady{host});
    for (int rank = 0; rank < ranks(); ++rank) say(job::RankStarted{rank, 100 + rank, 1, ""});
  }
  void end(int status) {
    for (int rank = 0; rank < ranks(); ++rank) {
      say(job::RankEnded{rank, ExitStatus::from_wait(status << 8), rank});
      say(job::RankDrained{rank});
    }
    for (int host = 0; host < hosts; ++host) say(job::HostClean{host, {}});
  }
  void tell() const { (void)report::failure_summary({plan, job.outcome(), {}, {}, {}}); }
};

void run_well(int hosts) {
  Story story{.hosts = hosts};
  const auto facts = rank_facts(story.plan);
  story.start();
  const wire::MpiWorld world = mpi::newest_world(story.plan);
  for (int host = 0; host < hosts; ++host) {
    std::string bytes;
    for (const wire::Message& frame : start_frames(story.plan, host, {}, facts, {world})) wire::encode(frame, bytes);
  }
  story.end(0);
  ASSERT_EQ(story.job.phase(), job::Phase::finished);
  story.tell();
}

void all_ranks_fail(int hosts) {
  Story story{.hosts = hosts};
  story.start();
  story.end(3);
  ASSERT_EQ(story.job.outcome().exit_code, 3);
  story.tell();
}

void no_host_can_be_reached(int hosts) {
  Story story{.hosts = hosts};
  for (int host = 0; host < hosts; ++host) story.say(job::HostLost{host, "Connection refused"});
  ASSERT_EQ(story.job.phase(), job::Phase::finished);
  story.tell();
}

void all_hosts_are_lost_while_ranks_run(int hosts) {
  Story story{.hosts = hosts};
  story.start();
  for (int host = 0; host < hosts; ++host) story.say(job::HostLost{host, "the agent stopped sending heartbeats"});
  for (int rank = 0; rank < story.ranks(); ++rank) story.say(job::RankDrained{rank});
  for (int host = 0; host < hosts; ++host) story.say(job::HostSwept{host, host % 2 == 0 ? "" : "no route"});
  ASSERT_EQ(story.job.phase(), job::Phase::finished);
  story.tell();
}

/// The --report record, a quarter of a kilobyte per rank, twice.
void record_is_written(int hosts) {
  Story story{.hosts = hosts};
  story.start();
  story.end(0);
  const std::string text = report::job_record_json({.plan = story.plan,
                                                    .outcome = story.job.outcome(),
                                                    .plan_json = plan::to_json(story.plan),
                                                    .version = "1",
                                                    .libraries = {},
                                                    .outputs = {}});
  ASSERT_GT(text.size(), story.plan.ranks.size() * 100);
}

struct Case {
  const char* name;
  void (*run)(int hosts);
  double most_seconds = 1;  // measured: 0.1 to 0.2, and 0.9 for the record
};

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr double kSlower = 20;
#else
constexpr double kSlower = 1;
#endif

class Scale : public testing::TestWithParam<Case> {};

TEST_P(Scale, CostIsSmallAndLinearInHosts) {
  const double few = cpu_seconds([] { GetParam().run(kHosts / 8); });
  const double many = cpu_seconds([] { GetParam().run(kHosts); });
  std::printf("  %d hosts, %d ranks: %.2f s of CPU, %.1f times that of an eighth\n", kHosts, kHosts * kRanksAHost, many,
              many / few);
  EXPECT_LT(many, kSlower * GetParam().most_seconds);
  EXPECT_LT(many, 20 * few);  // 8 if linear, 64 if quadratic
}

INSTANTIATE_TEST_SUITE_P(Jobs, Scale,
                         testing::Values(Case{"well", run_well}, Case{"all_fail", all_ranks_fail},
                                         Case{"unreachable", no_host_can_be_reached},
                                         Case{"all_lost", all_hosts_are_lost_while_ranks_run},
                                         Case{"record", record_is_written, 3}),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace dlaunch::launcher
