#include "report/record.h"

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/printable.h"
#include "base/time.h"

namespace dlaunch::report {
namespace {

using Json = nlohmann::ordered_json;

std::optional<job::Cause> cause_of(std::string_view text) {
  for (int each = 0; each <= static_cast<int>(job::Cause::hung); ++each) {
    if (const auto cause = static_cast<job::Cause>(each); text == cause_name(cause)) return cause;
  }
  return std::nullopt;
}

struct StatusJson {
  Json operator()(const Exited& e) const { return {{"kind", "exited"}, {"code", e.code}}; }
  Json operator()(const Signaled& s) const {
    return {{"kind", "signaled"},
            {"signal", s.signal},
            {"name", signal_name(s.signal)},
            {"core", s.core_dumped},
            {"out_of_memory", s.out_of_memory}};
  }
  Json operator()(const NotStarted& n) const { return {{"kind", "not_started"}, {"errno", n.error}, {"why", n.what}}; }
  Json operator()(const Lost& l) const { return {{"kind", "lost"}, {"why", l.why}}; }
  Json operator()(const Aborted& a) const { return {{"kind", "aborted"}, {"code", a.code}}; }
  Json operator()(const LeftMpi&) const { return {{"kind", "left_mpi"}}; }
};

Json status_json(const std::optional<ExitStatus>& status) {
  return status ? std::visit(StatusJson{}, status->value()) : Json(nullptr);
}

Json time_json(std::int64_t realtime_ns) { return realtime_ns == 0 ? Json(nullptr) : Json(rfc3339(realtime_ns)); }
Json text_json(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json device_json(const plan::Rank& rank) { return rank.device ? Json(*rank.device) : Json(nullptr); }

const std::string& host_name(const plan::Plan& plan, const plan::Rank& rank) {
  return plan.hosts.at(static_cast<size_t>(rank.host)).host.name;
}

/// Identifies a rank. The world is written only for spawned ranks.
Json identity_json(const plan::Plan& plan, size_t id) {
  const Worlds::Place place = plan.worlds.place(static_cast<int>(id));
  if (place.world == 1) return {{"rank", place.rank}};
  return {{"world", place.world}, {"rank", place.rank}};
}

Json rank_json(const plan::Plan& plan, size_t id, const job::RankRecord& record, const RankOutput& output) {
  const plan::Rank& rank = plan.ranks.at(id);
  Json json = identity_json(plan, id);
  json.update(Json{{"host", host_name(plan, rank)},
                   {"local_rank", rank.local_rank},
                   {"device", device_json(rank)},
                   {"pid", record.pid == 0 ? Json(nullptr) : Json(record.pid)},
                   {"start", time_json(record.start_ns)},
                   {"end", time_json(record.end_ns)},
                   {"status", status_json(record.status)},
                   {"shell_code", record.status ? Json(record.status->shell_code()) : Json(nullptr)},
                   {"ended_by_us", record.ended_by_us},
                   {"needed_kill", record.needed_kill},
                   {"stdout_bytes", output.stdout_bytes},
                   {"stderr_bytes", output.stderr_bytes},
                   {"stdout_path", text_json(output.stdout_path)},
                   {"stderr_path", text_json(output.stderr_path)},
                   {"cpus", record.cpus}});
  if (record.progress) json["progress"] = *record.progress;
  return json;
}

template <class T>
T at_or_default(const std::vector<T>& items, size_t index) {
  return index < items.size() ? items[index] : T{};
}

Json ranks_json(const RecordInput& input) {
  Json ranks = Json::array();
  for (size_t i = 0; i < input.plan.ranks.size(); ++i) {
    ranks.push_back(rank_json(input.plan, i, at_or_default(input.outcome.ranks, i), at_or_default(input.outputs, i)));
  }
  return ranks;
}

Json first_failure_json(const RecordInput& input) {
  if (!input.outcome.first_failure) return nullptr;
  const auto index = static_cast<size_t>(*input.outcome.first_failure);
  const plan::Rank& rank = input.plan.ranks.at(index);
  const job::RankRecord record = at_or_default(input.outcome.ranks, index);
  Json json = identity_json(input.plan, index);
  json.update(Json{{"host", host_name(input.plan, rank)},
                   {"device", device_json(rank)},
                   {"pid", record.pid == 0 ? Json(nullptr) : Json(record.pid)},
                   {"end", time_json(record.end_ns)},
                   {"status", status_json(record.status)},
                   {"text", record.status ? Json(record.status->describe()) : Json(nullptr)}});
  return json;
}

/// The programs that the user started. The plan has the programs that ranks spawned.
Json command_json(const plan::Plan& plan) {
  const int started = plan.worlds.size(1, static_cast<int>(plan.ranks.size()));
  Json command = Json::array();
  for (const plan::App& app : plan.apps) {
    if (app.first_rank < started || plan.worlds.last() == 1) command.push_back(app.argv);
  }
  return command;
}

Json libraries_json(const RecordInput& input) {
  Json libraries = Json::object();
  for (const auto& [name, version] : input.libraries) libraries[name] = version;
  return libraries;
}

/// The plan as an object, or as a text if it is not valid JSON.
Json plan_json(const std::string& text) {
  Json plan = Json::parse(text, nullptr, false);
  return plan.is_discarded() ? Json(text) : plan;
}

Json rounds_json(const RecordInput& input) {
  Json rounds = Json::array();
  for (const RoundRecord& round : input.rounds) {
    Json json({{"round", rounds.size()},
               {"start", time_json(round.start_ns)},
               {"end", time_json(round.end_ns)},
               {"cause", cause_name(round.cause)},
               {"first_failure", round.first_failure ? Json(*round.first_failure) : Json(nullptr)},
               {"text", round.text}});
    if (round.progress) json["progress"] = {{"least", round.progress->first}, {"most", round.progress->second}};
    rounds.push_back(std::move(json));
  }
  return rounds;
}

Json preempted_json(const job::Preempted& notice) {
  return {{"signal", signal_name(notice.signal)},
          {"told", notice.at_host ? "agent" : "launcher"},
          {"sender_pid", notice.sender ? Json(*notice.sender) : Json(nullptr)},
          {"used_s", std::chrono::duration<double>(notice.used).count()}};
}

Json lost_hosts_json(const job::Outcome& outcome) {
  Json hosts = Json::array();
  for (const job::LostHost& host : outcome.lost_hosts)
    hosts.push_back({{"host", host.name}, {"why", text_json(host.why)}});
  return hosts;
}

Json hangs_json(const job::Outcome& outcome) {
  Json hangs = Json::array();
  for (const job::Hang& hang : outcome.hangs) {
    hangs.push_back({{"time", time_json(hang.time_ns)},
                     {"every_rank", hang.everyone},
                     {"text", hang.text},
                     {"stacks", text_json(hang.file)}});
  }
  return hangs;
}

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

std::optional<std::pair<std::int64_t, std::int64_t>> progress_span(const std::vector<job::RankRecord>& ranks) {
  std::optional<std::pair<std::int64_t, std::int64_t>> span;
  for (const job::RankRecord& rank : ranks) {
    if (!rank.progress) continue;
    if (!span) span = {*rank.progress, *rank.progress};
    span->first = std::min(span->first, *rank.progress);
    span->second = std::max(span->second, *rank.progress);
  }
  return span;
}

const char* cause_name(job::Cause cause) {
  switch (cause) {
    case job::Cause::success:
      return "success";
    case job::Cause::rank_failed:
      return "rank_failed";
    case job::Cause::interrupted:
      return "interrupted";
    case job::Cause::timeout:
      return "timeout";
    case job::Cause::host_lost:
      return "host_lost";
    case job::Cause::output_failed:
      return "output_failed";
    case job::Cause::input_failed:
      return "input_failed";
    case job::Cause::preempted:
      return "preempted";
    case job::Cause::sidecar_failed:
      return "companion_failed";
    case job::Cause::hung:
      return "hung";
  }
  throw std::logic_error("unknown cause of the end of a job");
}

std::string job_record_json(const RecordInput& input) {
  const job::Outcome& outcome = input.outcome;
  const bool interrupted = outcome.cause == job::Cause::interrupted;
  Json record;
  record["dlaunch"] = {{"version", input.version}, {"libraries", libraries_json(input)}};
  record["command"] = command_json(input.plan);
  record["job_id"] = input.plan.job_id;
  record["start"] = time_json(input.start_ns);
  record["end"] = time_json(input.end_ns);
  record["wall_s"] = input.wall_s;
  const bool running = input.end_ns == 0;
  record["exit_code"] = running ? Json(nullptr) : Json(outcome.exit_code);
  record["cause"] = running ? "running" : cause_name(outcome.cause);
  record["signal"] = interrupted ? Json(signal_name(outcome.signal)) : Json(nullptr);
  if (outcome.preempted) record["preempted"] = preempted_json(*outcome.preempted);
  record["detail"] = text_json(outcome.detail);
  record["lost_hosts"] = lost_hosts_json(outcome);
  record["first_failure"] = first_failure_json(input);
  if (input.plan.attempt) record["attempt"] = *input.plan.attempt;
  if (input.plan.restarts > 0) {
    record["restarts"] = input.plan.restarts;
    record["round"] = input.plan.round;
    record["earlier_rounds"] = rounds_json(input);
  }
  record["plan"] = plan_json(input.plan_json);
  record["ranks"] = ranks_json(input);
  if (!outcome.hangs.empty()) record["hangs"] = hangs_json(outcome);
  record["leftovers"] = outcome.leftovers;
  return printable_json(record.dump(2, ' ', false, Json::error_handler_t::replace)) + '\n';
}

Result<Record> read_record(std::string_view text, const std::string& name) {
  try {
    return record_of(Json::parse(text));
  } catch (const std::exception& error) {
    return fail(
        {.where = name, .what = "not a job record", .why = error.what(), .hint = "use a file that --report wrote"});
  }
}

}  // namespace dlaunch::report
