#include "report/record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/rfc3339.h"

namespace dlaunch::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<job::Cause, const char*> kCauses[] = {
    {job::Cause::success, "success"},
    {job::Cause::rank_failed, "rank_failed"},
    {job::Cause::interrupted, "interrupted"},
    {job::Cause::timeout, "timeout"},
    {job::Cause::host_lost, "host_lost"},
    {job::Cause::output_failed, "output_failed"},
    {job::Cause::input_failed, "input_failed"},
    {job::Cause::preempted, "preempted"},
    {job::Cause::sidecar_failed, "companion_failed"},
    {job::Cause::hung, "hung"},
};

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

const char* cause_name(job::Cause cause) {
  return std::ranges::find(kCauses, cause, [](const auto& row) { return row.first; })->second;
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

std::optional<job::Cause> cause_of(std::string_view text) {
  const auto* const found = std::ranges::find(kCauses, text, [](const auto& row) { return row.second; });
  return found == std::end(kCauses) ? std::nullopt : std::optional(found->first);
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

}  // namespace dlaunch::report
