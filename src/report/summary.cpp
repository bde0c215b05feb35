#include "report/summary.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <set>

#include "base/environment.h"
#include "base/text.h"
#include "job/preemption.h"
#include "report/duration.h"
#include "report/lines.h"
#include "report/lost_hosts.h"

namespace dlaunch::report {
namespace {

constexpr size_t kLongestLine = 400;  // bytes of each line of a rank's last words
constexpr size_t kMostReasons = 4;    // different reasons of ranks that failed by themselves

constexpr size_t kMostCommands = 4;  // shown in full

/// Puts every rank into the one group that says what became of it.
struct Groups {
  std::map<std::string, std::set<int>> failed;  // by themselves, without the first failure; by reason
  std::set<int> lost;
  std::set<int> ended;  // because of the cause
  std::set<int> never_started;
  std::set<int> unknown;  // they started, and nobody knows their end
  size_t needed_kill = 0;
};

void sort_in(const job::RankRecord& record, int rank, Groups& groups) {
  if (record.needed_kill) ++groups.needed_kill;
  if (!record.status) {
    (record.pid == 0 ? groups.never_started : groups.unknown).insert(rank);
  } else if (record.ended_by_us) {
    groups.ended.insert(rank);
  } else if (std::holds_alternative<Lost>(record.status->value())) {
    groups.lost.insert(rank);
  } else if (!record.status->ok()) {
    groups.failed[record.status->describe()].insert(rank);
  }
}

Groups group_ranks(const job::Outcome& outcome) {
  Groups groups;
  for (size_t i = 0; i < outcome.ranks.size(); ++i) {
    const int rank = static_cast<int>(i);
    if (rank != outcome.first_failure || outcome.cause != job::Cause::rank_failed) {
      sort_in(outcome.ranks[i], rank, groups);
    }
  }
  return groups;
}

std::string was(size_t n) { return n == 1 ? " was " : " were "; }

std::string ranks_text(const Worlds& worlds, const std::set<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + worlds.fold(ranks);
}

void tell_failed(const Worlds& worlds, const Groups& groups, bool others, Lines& lines) {
  std::set<int> all;
  for (const auto& [how, ranks] : groups.failed) all.insert(ranks.begin(), ranks.end());
  if (all.empty()) return;
  const std::string word = others ? "other rank" : "rank";
  if (groups.failed.size() > kMostReasons) {
    lines.add(count(all.size(), word) + " failed by themselves in " + std::to_string(groups.failed.size()) +
              " different ways: " + ranks_text(worlds, all));
    return;
  }
  for (const auto& [how, ranks] : groups.failed) {
    lines.add(count(ranks.size(), word) + (ranks.size() == 1 ? " failed by itself (" : " failed by themselves (") +
              how + "): " + ranks_text(worlds, ranks));
  }
}

/// Tells what followed from the cause, in numbers.
void tell_consequences(const Summary& s, const Groups& groups, Lines& lines) {
  const Worlds& worlds = s.plan.worlds;
  const job::Cause cause = s.outcome.cause;
  const bool others = cause == job::Cause::rank_failed;
  if (!groups.never_started.empty()) {
    const size_t n = groups.never_started.size();
    const std::string restart = s.plan.round > 0 ? "not started again for restart " + std::to_string(s.plan.round) : "";
    lines.add(count(n, "rank") + was(n) + (restart.empty() ? "never started" : restart));
  }
  if (!groups.unknown.empty()) lines.add("nothing is known of the end of " + ranks_text(worlds, groups.unknown));
  tell_failed(worlds, groups, others, lines);
  if (!groups.lost.empty()) {
    lines.add(count(groups.lost.size(), "rank") + was(groups.lost.size()) + "lost: " + ranks_text(worlds, groups.lost));
  }
  const bool told_by_cause =
      cause == job::Cause::interrupted || cause == job::Cause::timeout || cause == job::Cause::preempted;
  if (groups.ended.empty() || told_by_cause) return;
  const size_t n = groups.ended.size();
  lines.add(count(n, others ? "other rank" : "rank") + was(n) + "ended because of it" +
            (groups.needed_kill > 0 ? " (" + std::to_string(groups.needed_kill) + " needed KILL)" : ""));
}

void tell_last_words(const Summary& s, const std::string& whose, Lines& lines) {
  if (!s.error_file.empty()) lines.add("what " + whose + " wrote in " + s.error_file + ":");
  const std::string path = s.log_path.empty() ? "" : " (all in " + s.log_path + ")";
  if (s.last_words.empty()) {
    if (!path.empty()) lines.add("stderr of " + whose + " is in " + s.log_path);
    return;
  }
  if (s.error_file.empty()) lines.add("last stderr lines of " + whose + path + ":");
  for (std::string_view line : s.last_words) {
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    const size_t more = line.size() > kLongestLine ? line.size() - kLongestLine : 0;
    lines.add("  | " + std::string(line.substr(0, kLongestLine)) + (more > 0 ? " … " + count(more, "more byte") : ""));
  }
}

/// "rank 3 (host node1, pid 4242, device 3)"
std::string rank_text(const plan::Plan& plan, const job::RankRecord& record, int rank) {
  const plan::Rank& planned = plan.ranks.at(static_cast<size_t>(rank));
  std::string text =
      "rank " + plan.worlds.name(rank) + " (host " + plan.hosts.at(static_cast<size_t>(planned.host)).host.name;
  if (record.pid != 0) text += ", pid " + std::to_string(record.pid);
  if (planned.device) text += ", device " + std::to_string(*planned.device);
  return text + ")";
}

bool has_path(const plan::App& app, const plan::Rank& rank) {
  return variable(app.env, "PATH") || variable(rank.env, "PATH");
}

std::string hint_for(const plan::Plan& plan, const plan::Rank& rank, const ExitStatus& status) {
  const plan::App& app = plan.apps.at(static_cast<size_t>(rank.app));
  if (const auto* not_started = std::get_if<NotStarted>(&status.value())) {
    const std::string program = app.argv.empty() ? "" : app.argv[0];
    if (!rank.dir.empty() && not_started->error == ENOENT && program.find('/') != std::string::npos &&
        program.front() != '/') {
      return "the path is taken from the rank's own directory; --stage copies a file into it";
    }
    return not_started_hint(*not_started, program, app.wdir, has_path(app, rank));
  }
  const auto* signaled = std::get_if<Signaled>(&status.value());
  if (!signaled || signaled->signal != SIGKILL) return {};
  if (signaled->out_of_memory) return "give it more memory, or start fewer ranks on its host";
  return "dlaunch did not send it; on a host short of memory the kernel does (dmesg tells), else a person or a batch "
         "system";
}

ExitStatus end_of(const job::RankRecord& record) {
  return record.status.value_or(ExitStatus(Lost{"its end was never told"}));
}

std::string rank_failure_text(const Summary& s, int rank) {
  const job::RankRecord& record = s.outcome.ranks.at(static_cast<size_t>(rank));
  const ExitStatus status = end_of(record);
  const bool timed = record.start_ns != 0 && record.end_ns >= record.start_ns;
  const auto lived = timed ? std::chrono::nanoseconds(record.end_ns - record.start_ns) : s.elapsed;
  const bool started = !std::holds_alternative<NotStarted>(status.value());
  return rank_text(s.plan, record, rank) + ' ' + status.describe() + (started ? " after " + duration_text(lived) : "");
}

void tell_rank_failure(const Summary& s, int rank, Lines& lines) {
  tell_last_words(s, "rank " + s.plan.worlds.name(rank), lines);
  lines.add(rank_failure_text(s, rank));
  const ExitStatus status = end_of(s.outcome.ranks.at(static_cast<size_t>(rank)));
  const std::string hint = hint_for(s.plan, s.plan.ranks.at(static_cast<size_t>(rank)), status);
  if (!hint.empty()) lines.add("  " + hint);
}

std::string killed_text(const Groups& groups) {
  return groups.needed_kill > 0 ? ", " + std::to_string(groups.needed_kill) + " needed KILL" : "";
}

void tell_timeout(const Summary& s, const Groups& groups, Lines& lines) {
  std::set<int> running = groups.ended;
  running.insert(groups.unknown.begin(), groups.unknown.end());
  std::string text = "time out after " + duration_text(s.elapsed);
  if (!running.empty()) {
    text += ": " + ranks_text(s.plan.worlds, running) + was(running.size()) + "still running" + killed_text(groups);
  }
  lines.add(text);
}

void tell_interruption(const Summary& s, const Groups& groups, Lines& lines) {
  if (!s.outcome.detail.empty()) lines.add(s.outcome.detail);
  lines.add("interrupted by " + signal_name(s.outcome.signal) + " after " + duration_text(s.elapsed) + ": " +
            count(groups.ended.size(), "rank") + " ended" + killed_text(groups));
}

bool any_started(const job::Outcome& outcome) {
  return std::ranges::any_of(outcome.ranks, [](const job::RankRecord& record) { return record.pid != 0; });
}

void tell_preemption(const Summary& s, const Groups& groups, Lines& lines) {
  const std::string used = " within " + duration_text(s.outcome.preempted->used);
  std::string how = any_started(s.outcome) ? "all ranks ended with 0" + used : "no rank had started";
  if (!groups.ended.empty()) {
    how = ranks_text(s.plan.worlds, groups.ended) + " had not ended" + used + killed_text(groups);
  }
  lines.add("preempted by " + job::describe(*s.outcome.preempted) + " after " + duration_text(s.elapsed) + ": " + how);
}

/// Tells what failed, then what to do about it.
void tell_output_failure(const std::string& before, std::string_view detail, Lines& lines) {
  const size_t first = std::min(detail.find('\n'), detail.size());
  lines.add(before + std::string(detail.substr(0, first)));
  lines.add_each("  ", detail.substr(first));
}

void tell_cause(const Summary& s, const Groups& groups, Lines& lines) {
  const std::string after = " after " + duration_text(s.elapsed) + ": ";
  switch (s.outcome.cause) {
    case job::Cause::success:
      return;
    case job::Cause::rank_failed:
      return tell_rank_failure(s, s.outcome.first_failure.value_or(0), lines);
    case job::Cause::interrupted:
      return tell_interruption(s, groups, lines);
    case job::Cause::preempted:
      return tell_preemption(s, groups, lines);
    case job::Cause::timeout:
      return tell_timeout(s, groups, lines);
    case job::Cause::host_lost:
      return lines.add_told(lost_hosts_text(s.outcome.lost_hosts, any_started(s.outcome), s.elapsed));
    case job::Cause::output_failed:
      return tell_output_failure("output failed" + after, s.outcome.detail, lines);
    case job::Cause::sidecar_failed:
      if (s.plan.sidecar) tell_last_words(s, "the " + s.plan.sidecar->name, lines);
      return lines.add(s.outcome.detail + " after " + duration_text(s.elapsed));
    case job::Cause::hung:
      return lines.add(cause_text(s) + killed_text(groups));
  }
}

const plan::Host& host_of(const Summary& s, int host) { return s.plan.hosts.at(static_cast<size_t>(host)).host; }

void tell_swept(const Summary& s, Lines& lines) {
  std::vector<std::string> names;
  for (const int host : s.outcome.swept) names.push_back(host_of(s, host).name);
  if (!names.empty())
    lines.add("nothing of the job is left on " + fold_names(names) + (names.size() == 1 ? ": it was" : ": they were") +
              " reached again");
}

/// Comes last, because it says what to do.
void tell_unswept(const Summary& s, Lines& lines) {
  if (s.outcome.unswept.empty()) return;
  std::vector<std::string> names;
  for (const job::Unswept& each : s.outcome.unswept) names.push_back(host_of(s, each.host).name);
  const bool one = names.size() == 1;
  lines.add("processes of the job may still run on " + fold_names(names) + (one ? "" : ", on each") +
            "; this ends them:");
  for (size_t i = 0; i < std::min(names.size(), kMostCommands); ++i) {
    const plan::Host& host = host_of(s, s.outcome.unswept[i].host);
    lines.add("  " + end_job_command(s.plan.job_id, s.shell_there ? s.shell_there(host) : "sh"));
  }
  if (names.size() > kMostCommands) lines.add("  and so on the others");
}

}  // namespace

std::string cause_text(const Summary& s) {
  if (s.outcome.cause == job::Cause::rank_failed) return rank_failure_text(s, s.outcome.first_failure.value_or(0));
  const std::string after = " after " + duration_text(s.elapsed);
  return s.outcome.cause == job::Cause::hung ? "hung" + after + ": " + s.outcome.detail : s.outcome.detail + after;
}

std::string unswept_text(const Summary& s) {
  Lines lines;
  tell_unswept(s, lines);
  return lines.take();
}

std::string restart_text(const std::string& cause, int restart, int restarts, std::chrono::seconds wait) {
  Lines lines;
  lines.add(cause + "; restart " + std::to_string(restart) + " of " + std::to_string(restarts) +
            (wait.count() > 0 ? " in " + std::to_string(wait.count()) + " s" : ""));
  return lines.take();
}

std::string failure_summary(const Summary& s) {
  Lines lines;
  for (const std::string& left : s.outcome.leftovers) lines.add("could not confirm the end of: " + left);
  const bool quiet = s.outcome.cause == job::Cause::output_failed && s.outcome.detail.empty();
  if (!quiet && s.outcome.unread) lines.add("the end of the ranks' output is not shown: nobody read it");
  const Groups groups = group_ranks(s.outcome);
  if (!quiet && s.outcome.cause != job::Cause::success) {
    tell_consequences(s, groups, lines);
    tell_swept(s, lines);
    tell_cause(s, groups, lines);
  }
  tell_unswept(s, lines);
  return lines.take();
}

}  // namespace dlaunch::report
