#include "report/record.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/time.h"
#include "dlaunch/record.h"

namespace dlaunch::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kStart = 1'700'000'000'123'456'789;

class JobRecord : public testing::Test {
 protected:
  JobRecord() {
    plan.job_id = "job-1";
    plan.apps.push_back({.argv = {"python3", "bad\xff"}, .env = {"SECRET=hush"}, .wdir = "/w", .ranks = 4});
    plan.hosts.emplace_back().host.name = "node1";
    for (int i = 0; i < 4; ++i) {
      plan::Rank& rank = plan.ranks.emplace_back();
      rank.rank = rank.local_rank = i;
      rank.env = {"ALSO=hush"};
    }
    plan.ranks[0].device = 5;
    outcome.cause = job::Cause::rank_failed;
    outcome.exit_code = 139;
    outcome.first_failure = 1;
    outcome.ranks = {{100, ExitStatus(Exited{0}), kStart, kStart + 1, true, true, "0-3"},
                     {101, ExitStatus(Signaled{SIGSEGV, true}), kStart, kStart + 2, false, false, ""},
                     {0, ExitStatus(NotStarted{ENOENT, "cannot execute x"}), 0, 0, false, false, ""},
                     {}};
  }
  std::string text(std::int64_t end_ns = kStart + 2'000'000'000) const {
    return job_record_json(
        {plan, outcome, R"({"hosts":[]})", "0.1.0", {{"asio", "1.22"}}, kStart, end_ns, 2.0, {{7, 8, "/o", "/e"}}});
  }
  json record(std::int64_t end_ns = kStart + 2'000'000'000) const { return json::parse(text(end_ns)); }
  plan::Plan plan;
  job::Outcome outcome;
};

TEST_F(JobRecord, DescribesTheWholeJob) {
  const json r = record();
  EXPECT_EQ(r["dlaunch"], (json{{"version", "0.1.0"}, {"libraries", {{"asio", "1.22"}}}}));
  EXPECT_EQ(r["job_id"], "job-1");
  EXPECT_EQ(r["command"], json::array({json::array({"python3", "bad\xef\xbf\xbd"})}));
  EXPECT_EQ(r["start"], "2023-11-14T22:13:20.123456Z");
  EXPECT_EQ(r["end"], "2023-11-14T22:13:22.123456Z");
  EXPECT_EQ(r["wall_s"], 2.0);
  EXPECT_EQ(r["exit_code"], 139);
  EXPECT_EQ(r["cause"], "rank_failed");
  EXPECT_EQ(r["signal"], nullptr);
  EXPECT_EQ(r["plan"], (json{{"hosts", json::array()}}));
  EXPECT_EQ(r["leftovers"], json::array());
  EXPECT_EQ(r["first_failure"]["rank"], 1);
  EXPECT_EQ(r["first_failure"]["text"], "killed by signal 11 (SIGSEGV), core dumped");
}

TEST_F(JobRecord, ASpawnedRankHasItsWorld) {
  plan.worlds.begin(3);
  plan.ranks[3].rank = 0;
  plan.apps.push_back({.argv = {"child"}, .env = {}, .wdir = "/w", .first_rank = 3, .ranks = 1});
  outcome.first_failure = 3;
  const json r = record();
  EXPECT_FALSE(r["ranks"][2].contains("world"));
  EXPECT_EQ(r["ranks"][3]["world"], 2);
  EXPECT_EQ(r["ranks"][3]["rank"], 0);
  EXPECT_EQ(r["first_failure"]["world"], 2);
  EXPECT_EQ(r["first_failure"]["rank"], 0);
  EXPECT_EQ(r["command"].size(), 1u) << "what was spawned is in the plan";
}

TEST_F(JobRecord, DescribesEachRank) {
  const json ranks = record()["ranks"];
  ASSERT_EQ(ranks.size(), 4u);
  EXPECT_EQ(ranks[0], json::parse(R"({"rank":0,"host":"node1","local_rank":0,"device":5,"pid":100,
    "start":"2023-11-14T22:13:20.123456Z","end":"2023-11-14T22:13:20.123456Z","status":{"kind":"exited","code":0},
    "shell_code":0,"ended_by_us":true,"needed_kill":true,"stdout_bytes":7,"stderr_bytes":8,"stdout_path":"/o",
    "stderr_path":"/e","cpus":"0-3"})"));
  EXPECT_EQ(ranks[1]["status"], json::parse(R"({"kind":"signaled","signal":11,"name":"SIGSEGV","core":true,
    "out_of_memory":false})"));
  EXPECT_EQ(ranks[1]["shell_code"], 139);
  EXPECT_EQ(ranks[2]["status"], json::parse(R"({"kind":"not_started","errno":2,"why":"cannot execute x"})"));
  EXPECT_EQ(ranks[2]["start"], nullptr);
  EXPECT_EQ(ranks[3]["status"], nullptr);
  EXPECT_EQ(ranks[3]["pid"], nullptr);
  EXPECT_EQ(ranks[3]["stdout_path"], nullptr);
}

TEST_F(JobRecord, DescribesAnInterruptedJob) {
  outcome.cause = job::Cause::interrupted;
  outcome.signal = SIGINT;
  outcome.first_failure.reset();
  EXPECT_EQ(record()["signal"], "SIGINT");
  EXPECT_EQ(record()["first_failure"], nullptr);
}

TEST_F(JobRecord, DescribesARunningJob) {
  const json found = record(0);
  EXPECT_EQ(found["cause"], "running");
  EXPECT_EQ(found["end"], nullptr);
  EXPECT_EQ(found["exit_code"], nullptr);
}

TEST_F(JobRecord, OmitsValuesOfTheEnvironment) { EXPECT_THAT(record().dump(), Not(HasSubstr("hush"))); }

TEST_F(JobRecord, IsReadBackAsItWasWritten) {
  plan.worlds.begin(3);
  plan.ranks[3].rank = 0;
  outcome.first_failure = 3;
  outcome.detail = "detail";
  outcome.lost_hosts = {{"node9", "no route", ""}};
  outcome.leftovers = {"node1: pid 7"};
  outcome.ranks[3].status = ExitStatus(Aborted{3});
  const auto read = read_record(text(), "job.json");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->job_id, "job-1");
  EXPECT_EQ(read->libraries.front().second, "1.22");
  EXPECT_EQ(read->command.front().front(), "python3");
  EXPECT_EQ(read->start_ns, kStart / 1000 * 1000);
  EXPECT_EQ(read->end_ns - read->start_ns, 2'000'000'000);
  EXPECT_EQ(read->outcome.cause, job::Cause::rank_failed);
  EXPECT_EQ(read->outcome.exit_code, 139);
  EXPECT_EQ(read->outcome.first_failure, 3) << "rank 0 of world 2, and not of world 1";
  EXPECT_EQ(read->outcome.detail, "detail");
  EXPECT_EQ(read->outcome.lost_hosts.front().why, "no route");
  EXPECT_EQ(read->outcome.leftovers, outcome.leftovers);
  ASSERT_EQ(read->ranks.size(), 4u);
  for (size_t id = 0; id < 4; ++id) EXPECT_EQ(read->ranks[id].end.status, outcome.ranks[id].status) << id;
  EXPECT_EQ(read->ranks[0].device, 5);
  EXPECT_EQ(read->ranks[0].end.pid, 100);
  EXPECT_EQ(read->ranks[0].stdout_bytes, 7u);
  EXPECT_EQ(read->ranks[0].stderr_path, "/e");
  EXPECT_EQ(read->ranks[3].world, 2);
}

TEST_F(JobRecord, ProgressIsReadBack) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  EXPECT_EQ(progress_span(outcome.ranks), std::nullopt);
  outcome.ranks[1].progress = kMost;
  outcome.ranks[2].progress = 0;
  plan.restarts = 2;
  plan.round = 2;
  const auto span = progress_span(outcome.ranks);
  EXPECT_EQ(span, std::pair(std::int64_t{0}, kMost));
  const std::string text =
      job_record_json({plan,
                       outcome,
                       "{}",
                       "0.1.0",
                       {},
                       kStart,
                       kStart + 1,
                       1,
                       {},
                       {{.cause = job::Cause::rank_failed, .text = "x", .first_failure = 1},
                        {.cause = job::Cause::hung, .text = "y", .first_failure = {}, .progress = span}}});
  const auto read = read_record(text, "job.json");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->ranks[0].end.progress, std::nullopt);
  EXPECT_EQ(read->ranks[1].end.progress, kMost);
  EXPECT_EQ(read->ranks[2].end.progress, 0);
  ASSERT_EQ(read->earlier_rounds.size(), 2u);
  EXPECT_EQ(read->earlier_rounds[0].progress, std::nullopt);
  EXPECT_EQ(read->earlier_rounds[1].progress, span);
  std::string wrong = text;
  wrong.replace(wrong.find("9007199254740992"), 1, "x");
  EXPECT_FALSE(read_record(wrong, "job.json"));
}

TEST_F(JobRecord, OfAJobThatRunsOrWasInterruptedIsReadBack) {
  EXPECT_EQ(read_record(text(0), "job.json")->end_ns, 0);
  outcome.cause = job::Cause::interrupted;
  outcome.signal = SIGINT;
  EXPECT_EQ(read_record(text(), "job.json")->outcome.signal, SIGINT);
}

TEST_F(JobRecord, RejectsFilesWithoutARecord) {
  for (const std::string& bad : {std::string("{"), std::string("[]"), std::string("{}"), text().substr(0, 300)}) {
    const auto read = read_record(bad, "job.json");
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().where, "job.json");
  }
  for (const auto& [what, with] : {std::pair(R"("exited")", R"("evaporated")"), std::pair("2023-11-14T", "2023-99-14T"),
                                   std::pair(R"("rank_failed")", R"("boredom")"), std::pair(": 139", ": \"139\"")}) {
    std::string changed = text();
    changed.replace(changed.find(what), std::string_view(what).size(), with);
    EXPECT_FALSE(read_record(changed, "job.json")) << with;
  }
}

TEST(Rfc3339, BeforeAndAfterTheEpoch) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(rfc3339(-1), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(rfc3339(951'782'400'000'000'000), "2000-02-29T00:00:00.000000Z");
}

}  // namespace
}  // namespace dlaunch::report
