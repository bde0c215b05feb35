#include "report/summary.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <utility>

#include "base/environment.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "job/preemption.h"
#include "report/lines.h"
#include "report/rank_groups.h"

namespace dlaunch::report {

std::string lost_hosts_text(const std::vector<job::LostHost>& lost, bool started, Duration elapsed) {
  Lines lines;
  const std::string after = " after " + duration_text(elapsed);
  if (lost.size() == 1) {
    const std::string what = started ? "a host was lost" + after : "cannot use a host";
    lines.add(what + ": " + lost[0].name + ": " + std::string(trim(lost[0].why)));
    lines.add_hint(lost[0].hint);
    return lines.take();
  }
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> by_reason;
  for (const job::LostHost& host : lost) by_reason[{host.why, host.hint}].push_back(host.name);
  std::vector<std::pair<size_t, decltype(by_reason)::const_iterator>> order;
  for (auto it = by_reason.cbegin(); it != by_reason.cend(); ++it) order.emplace_back(it->second.size(), it);
  std::ranges::stable_sort(order, {}, [](const auto& entry) { return entry.first; });
  const std::string hosts = std::to_string(lost.size()) + " hosts";
  lines.add(started ? hosts + " were lost" + after + ":" : "cannot use " + hosts + ":");
  for (const auto& [size, reason] : order) {
    lines.add(fold_names(reason->second) + ": " + std::string(trim(reason->first.first)));
    lines.add_hint(reason->first.second);
  }
  return lines.take();
}

/// The command kills the job's control groups first, then each process with the job's id in its environment. Three
/// passes: a later pass finds processes that were forked during an earlier pass, and removes groups that became empty.
std::string end_job_command(const std::string& job_id, const std::string& shell_there) {
  return "echo 'for i in 1 2 3; do for c in $(find /sys/fs/cgroup -name \"dlaunch-" + job_id +
         "-*\"); do echo 1 >$c/cgroup.kill; rmdir $c; done; for e in $(grep -lzxF DLAUNCH_JOB_ID=" + job_id +
         " /proc/[0-9]*/environ); do e=${e#/proc/}; kill -KILL ${e%/*}; done; done 2>/dev/null' | " + shell_there;
}

namespace {

constexpr size_t kMostCommands = 4;  // commands shown in full

std::vector<plan::Host> unswept_hosts(const Summary& s, bool of_earlier_rounds) {
  std::vector<plan::Host> hosts;
  for (const job::Unswept& each : s.outcome.unswept) {
    hosts.push_back(s.plan.hosts.at(static_cast<size_t>(each.host)).host);
  }
  if (of_earlier_rounds) hosts.insert(hosts.end(), s.unswept_before.begin(), s.unswept_before.end());
  return hosts;
}

const plan::Host& host_of(const Summary& s, int host) { return s.plan.hosts.at(static_cast<size_t>(host)).host; }

/// Names the hosts on which a sweep found no process of the job.
void add_swept(const Summary& s, Lines& lines) {
  const auto names = [&](const std::vector<int>& hosts) {
    std::vector<std::string> found;
    for (const int host : hosts) found.push_back(host_of(s, host).name);
    return fold_names(found);
  };
  if (!s.outcome.swept.empty()) {
    lines.add("no process with the job's environment or control group is left on " + names(s.outcome.swept) +
              " (dlaunch connected again)");
  }
  const std::string ended = names(s.outcome.ended_by_manager);
  if (ended.empty()) return;
  lines.add(s.plan.manager
                ? "the batch system ends the remaining processes on " + ended + " (dlaunch cannot connect again)"
                : "dlaunch on " + ended + " ends the remaining processes there (this dlaunch cannot connect again)");
}

/// Names the hosts that no sweep reached, with the commands that kill the processes there. `of_earlier_rounds`: with
/// the hosts of earlier rounds.
void add_unswept(const Summary& s, bool of_earlier_rounds, Lines& lines) {
  const std::vector<plan::Host> hosts = unswept_hosts(s, of_earlier_rounds);
  if (hosts.empty()) return;
  std::vector<std::string> names;
  for (const plan::Host& host : hosts) names.push_back(host.name);
  const bool one = names.size() == 1;
  lines.add("processes of the job may still run on " + fold_names(names) +
            (one ? "; this command kills them:" : "; these commands kill them:"));
  for (size_t i = 0; i < std::min(names.size(), kMostCommands); ++i) {
    lines.add("  " + end_job_command(s.plan.job_id, s.shell_there ? s.shell_there(hosts[i]) : "sh"));
  }
  if (names.size() > kMostCommands)
    lines.add("  and the same for " + count(names.size() - kMostCommands, "other host"));
}

constexpr size_t kLongestLine = 400;  // bytes of each of a rank's last lines
constexpr size_t kMostReasons = 4;    // different reasons of ranks that failed in addition to the first
constexpr std::chrono::seconds kNoticeable{1};

std::string detail(const std::string& text) { return text.empty() ? "" : ": " + text; }

std::string was(size_t n) { return n == 1 ? " was " : " were "; }

void add_failed(const Worlds& worlds, const RankGroups& groups, bool others, Lines& lines) {
  std::set<int> all;
  for (const auto& [how, ranks] : groups.failed) all.insert(ranks.begin(), ranks.end());
  if (all.empty()) return;
  const std::string word = others ? "other rank" : "rank";
  if (groups.failed.size() > kMostReasons) {
    lines.add(count(all.size(), word) + " failed in " + std::to_string(groups.failed.size()) +
              " different ways: " + ranks_text(worlds, all));
    return;
  }
  for (const auto& [how, ranks] : groups.failed) {
    lines.add(count(ranks.size(), word) + " failed (" + how + "): " + ranks_text(worlds, ranks));
  }
}

bool all_succeeded(const job::Outcome& outcome) {
  return std::ranges::all_of(outcome.ranks, [](const auto& record) { return record.status && record.status->ok(); });
}

bool any_started(const job::Outcome& outcome) {
  return std::ranges::any_of(outcome.ranks, [](const job::RankRecord& record) { return record.pid != 0; });
}

/// A rank whose program cannot be executed has a pid, too.
bool any_program_ran(const job::Outcome& outcome) {
  return std::ranges::any_of(outcome.ranks, [](const job::RankRecord& record) {
    return record.pid != 0 && !(record.status && std::holds_alternative<NotStarted>(record.status->value()));
  });
}

/// "stopped the 3 other ranks", "stopped 3 ranks (1 needed KILL)". `named`: the number of ranks in the line of the
/// cause.
std::string stopped_text(const Summary& s, const RankGroups& groups, size_t named) {
  const bool others = named > 0;
  const size_t n = groups.stopped.size();
  std::string ranks = count(n, others ? "other rank" : "rank");
  if (others && n + named == s.outcome.ranks.size()) ranks = n == 1 ? "the other rank" : "the " + ranks;
  return "stopped " + ranks +
         (groups.needed_kill > 0 ? " (" + std::to_string(groups.needed_kill) + " needed KILL)" : "");
}

/// Adds the numbers of ranks that were stopped, failed, were lost or never started.
void add_consequences(const Summary& s, const RankGroups& groups, const std::set<int>& alike, Lines& lines) {
  const Worlds& worlds = s.plan.worlds;
  const job::Cause cause = s.outcome.cause;
  const bool others = cause == job::Cause::rank_failed;
  const bool names_stopped_ranks =
      cause == job::Cause::interrupted || cause == job::Cause::timeout || cause == job::Cause::preempted;
  if (!groups.stopped.empty() && !names_stopped_ranks) {
    lines.add(stopped_text(s, groups, others ? std::max<size_t>(alike.size(), 1) : 0));
  }
  add_failed(worlds, groups, others, lines);
  if (!groups.lost.empty()) {
    lines.add(count(groups.lost.size(), "rank") + was(groups.lost.size()) + "lost: " + ranks_text(worlds, groups.lost));
  }
  if (!groups.unknown.empty()) lines.add("unknown exit status: " + ranks_text(worlds, groups.unknown));
  if (!groups.start_unknown.empty()) {
    lines.add("unknown whether started: " + ranks_text(worlds, groups.start_unknown));
  }
  const size_t n = groups.never_started.size();
  if (n == 0 || (others && !any_program_ran(s.outcome))) return;
  const std::string restart = "not started again for restart " + std::to_string(s.plan.round);
  lines.add(count(n, "rank") + was(n) + (s.plan.round > 0 ? restart : "never started"));
}

void add_last_lines(const Summary& s, const std::string& whose, Lines& lines) {
  if (s.last_lines.empty()) {
    if (!s.log_path.empty()) lines.add(s.stream + " of " + whose + ": " + s.log_path);
    return;
  }
  if (s.error_file.empty()) {
    const std::string path = s.log_path.empty() ? "" : " (all in " + s.log_path + ")";
    lines.add("last " + s.stream + " lines of " + whose + path + ":");
  } else {
    lines.add("error file of " + whose + " (" + s.error_file + "):");
  }
  for (std::string_view line : s.last_lines) {
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

std::string hint_for(const Summary& s, const plan::Rank& rank, const ExitStatus& status) {
  const plan::App& app = s.plan.apps.at(static_cast<size_t>(rank.app));
  if (const auto* not_started = std::get_if<NotStarted>(&status.value())) {
    const std::string program = app.argv.empty() ? "" : app.argv[0];
    if (!rank.dir.empty() && not_started->error == ENOENT && program.find('/') != std::string::npos &&
        program.front() != '/') {
      return "use --stage to copy the program into the rank's directory: a relative path starts there";
    }
    return not_started_hint(*not_started, program, app.wdir, has_path(app, rank), s.subcommands);
  }
  const auto* signaled = std::get_if<Signaled>(&status.value());
  if (!signaled || signaled->signal != SIGKILL) return {};
  if (signaled->out_of_memory) return "give the rank more memory, or start fewer ranks on its host";
  return "check dmesg on the host: dlaunch did not send SIGKILL; the sender was the kernel (out of memory), a batch "
         "system or a user";
}

const job::RankRecord& record_of(const Summary& s, int rank) { return s.outcome.ranks.at(static_cast<size_t>(rank)); }

std::string rank_failure_text(const Summary& s, int rank) {
  const job::RankRecord& record = record_of(s, rank);
  const ExitStatus status = status_of(record);
  const bool timed = record.start_ns != 0 && record.end_ns >= record.start_ns;
  const auto lived = timed ? std::chrono::nanoseconds(record.end_ns - record.start_ns) : s.elapsed;
  const bool started = !std::holds_alternative<NotStarted>(status.value());
  return rank_text(s.plan, record, rank) + ' ' + status.describe() + (started ? " after " + duration_text(lived) : "");
}

void add_rank_failure(const Summary& s, int rank, const std::set<int>& alike, Lines& lines) {
  const ExitStatus status = status_of(record_of(s, rank));
  const auto* not_started = std::get_if<NotStarted>(&status.value());
  const std::string together = not_started ? not_started_text(s.plan, alike, *not_started) : "";
  lines.add(together.empty() ? rank_failure_text(s, rank) : together);
  const std::string hint = hint_for(s, s.plan.ranks.at(static_cast<size_t>(rank)), status);
  if (!hint.empty()) lines.add("  " + hint);
  if (!not_started) add_last_lines(s, "rank " + s.plan.worlds.name(rank), lines);
}

std::string killed_text(const RankGroups& groups) {
  return groups.needed_kill > 0 ? " (" + std::to_string(groups.needed_kill) + " needed KILL)" : "";
}

void add_timeout(const Summary& s, const RankGroups& groups, Lines& lines) {
  std::set<int> running = groups.stopped;
  for (const auto* others : {&groups.unknown, &groups.stuck}) running.insert(others->begin(), others->end());
  for (const int rank : groups.unheard) running.erase(rank);
  std::string text = "timed out after " + duration_text(s.elapsed);
  if (!running.empty()) {
    text += ": " + ranks_text(s.plan.worlds, running) + was(running.size()) + "still running" + killed_text(groups);
  }
  lines.add(text);
  if (!s.outcome.detail.empty()) lines.add("  " + s.outcome.detail);
}

void add_interruption(const Summary& s, const RankGroups& groups, Lines& lines) {
  std::string how;
  if (!groups.stopped.empty()) {
    how = stopped_text(s, groups, 0);
  } else if (s.outcome.idle) {
    how = "no rank was running";
  }
  lines.add("interrupted by " + signal_name(s.outcome.signal) + " after " + duration_text(s.elapsed) + detail(how));
  if (!s.outcome.detail.empty()) lines.add("  " + s.outcome.detail);
}

void add_preemption(const Summary& s, const RankGroups& groups, Lines& lines) {
  const std::string used = " within " + duration_text(s.outcome.preempted->used);
  std::string how;
  if (!groups.stopped.empty()) {
    how = ranks_text(s.plan.worlds, groups.stopped) + " did not exit" + used + killed_text(groups);
  } else if (s.outcome.idle) {
    how = "no rank was running";
  } else if (all_succeeded(s.outcome)) {
    how = "all ranks exited with 0" + used;
  }
  lines.add("preempted by " + job::describe(*s.outcome.preempted) + " after " + duration_text(s.elapsed) + detail(how));
  if (!s.outcome.detail.empty()) lines.add("  " + s.outcome.detail);
}

/// The first line of `detail` is the failure; the other lines are hints.
void add_stream_failure(const std::string& before, std::string_view detail, Lines& lines) {
  const size_t first = std::min(detail.find('\n'), detail.size());
  lines.add(before + std::string(detail.substr(0, first)));
  lines.add_hint(detail.substr(first));
}

void add_cause(const Summary& s, const RankGroups& groups, const std::set<int>& alike, Lines& lines) {
  const std::string after = " after " + duration_text(s.elapsed) + ": ";
  switch (s.outcome.cause) {
    case job::Cause::success:
      return;
    case job::Cause::rank_failed:
      return add_rank_failure(s, s.outcome.first_failure.value_or(0), alike, lines);
    case job::Cause::interrupted:
      return add_interruption(s, groups, lines);
    case job::Cause::preempted:
      return add_preemption(s, groups, lines);
    case job::Cause::timeout:
      return add_timeout(s, groups, lines);
    case job::Cause::host_lost:
      return lines.add_complete(lost_hosts_text(s.outcome.lost_hosts, any_started(s.outcome), s.elapsed));
    case job::Cause::output_failed:
      return add_stream_failure("output failed" + after, s.outcome.detail, lines);
    case job::Cause::input_failed:
      return add_stream_failure("input failed" + after, s.outcome.detail, lines);
    case job::Cause::sidecar_failed:
      lines.add(s.outcome.detail + " after " + duration_text(s.elapsed));
      if (s.plan.sidecar) add_last_lines(s, "the " + s.plan.sidecar->name, lines);
      return;
    case job::Cause::hung:
      return lines.add(cause_text(s));
  }
}

/// Hosts with a common TMPDIR report the same directory: one line names all of them.
void add_leftovers(const std::vector<std::string>& leftovers, Lines& lines) {
  const auto directory_at = [](const std::string& left) { return std::min(find_left_file(left), left.size()); };
  std::map<std::string, std::vector<std::string>> hosts;  // by directory
  for (const std::string& left : leftovers)
    hosts[left.substr(directory_at(left))].push_back(left.substr(0, directory_at(left)));
  for (const std::string& left : leftovers) {
    const std::string directory = left.substr(directory_at(left));
    if (directory.empty()) {
      lines.add("processes may be left: " + left);
    } else if (const auto all = hosts.extract(directory)) {
      lines.add("files may be left: " + fold_names(all.mapped()) + directory);
    }
  }
}

/// The time after which all processes had ended, if this was noticeably later than the cause, or than the end that the
/// line of a preemption states.
void add_end(const Summary& s, Lines& lines) {
  const bool known =
      left_processes(s.outcome.leftovers) == 0 && s.outcome.ended_by_manager.empty() && s.unswept_before.empty();
  if (!s.ended || !known || !any_started(s.outcome)) return;
  const Duration told = s.elapsed + (s.outcome.cause == job::Cause::preempted ? s.outcome.preempted->used : Duration{});
  if (*s.ended - told >= kNoticeable) lines.add("all processes had ended after " + duration_text(*s.ended));
}

}  // namespace

std::string cause_text(const Summary& s) {
  if (s.outcome.cause == job::Cause::rank_failed) return rank_failure_text(s, s.outcome.first_failure.value_or(0));
  const std::string after = " after " + duration_text(s.elapsed);
  return s.outcome.cause == job::Cause::hung ? "hung" + after + ": " + s.outcome.detail : s.outcome.detail + after;
}

std::string unswept_text(const Summary& s) {
  Lines lines;
  add_unswept(s, false, lines);
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
  const bool quiet = s.outcome.cause == job::Cause::output_failed && s.outcome.detail.empty();
  if (!quiet && s.outcome.cause != job::Cause::success) {
    const std::set<int> alike = not_started_alike(s.plan, s.outcome);
    const RankGroups groups = group_ranks(s.outcome, alike);
    add_cause(s, groups, alike, lines);
    add_consequences(s, groups, alike, lines);
    add_end(s, lines);
    add_swept(s, lines);
  }
  if (!quiet && s.outcome.unread)
    lines.add("the end of the ranks' output is missing: stdout or stderr accepted no data in time");
  if (!quiet && s.outcome.unended)
    lines.add("the end of the ranks' output may be missing: agents did not send all output in time");
  add_leftovers(s.outcome.leftovers, lines);
  add_unswept(s, s.outcome.cause != job::Cause::success, lines);
  return lines.take();
}

}  // namespace dlaunch::report
