#include "dlaunch/record.h"

#include <csignal>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/rfc3339.h"
#include "report/record.h"

namespace dlaunch::report {
namespace {

using Json = nlohmann::ordered_json;

/// The value of a mandatory field.
template <class T>
T known(std::optional<T> value, const Json& json) {
  if (!value) throw std::invalid_argument("unknown value " + json.dump());
  return *value;
}

/// A time; 0 for null.
std::int64_t time_of(const Json& json) {
  return json.is_null() ? 0 : known(parse_rfc3339(json.get_ref<const std::string&>()), json);
}

int signal_of(const Json& name) {
  for (int signal = 1; signal < NSIG; ++signal) {
    if (name == signal_name(signal)) return signal;
  }
  return 0;
}

std::string text_of(const Json& json) { return json.is_null() ? "" : json.get<std::string>(); }

template <class T>
std::optional<T> maybe(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<T>());
}

std::optional<ExitStatus> status_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  const std::string kind = json.at("kind");
  if (kind == "exited") return ExitStatus(Exited{json.at("code")});
  if (kind == "signaled") return ExitStatus(Signaled{json.at("signal"), json.at("core"), json.at("out_of_memory")});
  if (kind == "not_started") return ExitStatus(NotStarted{json.at("errno"), json.at("why")});
  if (kind == "lost") return ExitStatus(Lost{json.at("why")});
  if (kind == "aborted") return ExitStatus(Aborted{json.at("code")});
  if (kind == "left_mpi") return ExitStatus(LeftMpi{});
  return known(std::optional<ExitStatus>(), json);
}

RecordedRank rank_of(const Json& json) {
  RecordedRank rank;
  rank.world = json.value("world", 1);
  rank.rank = json.at("rank");
  rank.host = json.at("host");
  rank.local_rank = json.at("local_rank");
  rank.device = maybe<int>(json.at("device"));
  rank.end.pid = maybe<int>(json.at("pid")).value_or(0);
  rank.end.start_ns = time_of(json.at("start"));
  rank.end.end_ns = time_of(json.at("end"));
  rank.end.status = status_of(json.at("status"));
  rank.end.ended_by_us = json.at("ended_by_us");
  rank.end.needed_kill = json.at("needed_kill");
  rank.end.cpus = json.at("cpus");
  if (json.contains("progress")) rank.end.progress = json.at("progress").get<std::int64_t>();
  rank.stdout_bytes = json.at("stdout_bytes");
  rank.stderr_bytes = json.at("stderr_bytes");
  rank.stdout_path = text_of(json.at("stdout_path"));
  rank.stderr_path = text_of(json.at("stderr_path"));
  return rank;
}

job::Outcome outcome_of(const Json& json, const std::vector<RecordedRank>& ranks) {
  job::Outcome outcome;
  const Json& cause = json.at("cause");
  if (cause != "running") outcome.cause = known(cause_of(cause.get_ref<const std::string&>()), cause);
  outcome.exit_code = maybe<int>(json.at("exit_code")).value_or(0);
  outcome.signal = signal_of(json.at("signal"));
  outcome.detail = text_of(json.at("detail"));
  for (const Json& host : json.at("lost_hosts"))
    outcome.lost_hosts.push_back({host.at("host"), text_of(host.at("why")), {}});
  outcome.leftovers = json.at("leftovers").get<std::vector<std::string>>();
  const Json& first = json.at("first_failure");
  for (size_t id = 0; !first.is_null() && id < ranks.size(); ++id) {
    if (ranks[id].rank == first.at("rank") && ranks[id].world == first.value("world", 1)) {
      outcome.first_failure = static_cast<int>(id);
    }
  }
  return outcome;
}

RoundRecord round_of(const Json& json) {
  const Json& cause = json.at("cause");
  RoundRecord round{known(cause_of(cause.get_ref<const std::string&>()), cause), json.at("text"),
                    maybe<int>(json.at("first_failure")), time_of(json.at("start")), time_of(json.at("end"))};
  if (json.contains("progress")) {
    const Json& progress = json.at("progress");
    round.progress = {progress.at("least").get<std::int64_t>(), progress.at("most").get<std::int64_t>()};
  }
  return round;
}

Record record_of(const Json& json) {
  Record record;
  record.version = json.at("dlaunch").at("version");
  for (const auto& [name, version] : json.at("dlaunch").at("libraries").items())
    record.libraries.emplace_back(name, version);
  record.job_id = json.at("job_id");
  record.command = json.at("command").get<std::vector<std::vector<std::string>>>();
  record.start_ns = time_of(json.at("start"));
  record.end_ns = time_of(json.at("end"));
  record.wall_s = json.at("wall_s");
  record.plan = json.at("plan").dump();
  for (const Json& rank : json.at("ranks")) record.ranks.push_back(rank_of(rank));
  record.outcome = outcome_of(json, record.ranks);
  if (json.contains("attempt")) record.attempt = json.at("attempt");
  record.restarts = json.value("restarts", 0);
  for (const Json& round : json.value("earlier_rounds", Json::array()))
    record.earlier_rounds.push_back(round_of(round));
  return record;
}

}  // namespace

Result<Record> read_record(std::string_view text, const std::string& name) {
  try {
    return record_of(Json::parse(text));
  } catch (const std::exception& error) {
    return fail(
        {.where = name, .what = "is not a job record", .why = error.what(), .hint = "give a file that --report wrote"});
  }
}

}  // namespace dlaunch::report
