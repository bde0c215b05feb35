// Rows for the line of the cause and for the lines about the rank that failed first.
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iterator>

#include "dlaunch/exit_status.h"
#include "dlaunch/job_options.h"
#include "link/heartbeat.h"
#include "promises/sentence_table.h"

namespace sim {

const Ns kBeat = std::chrono::nanoseconds(dlaunch::JobOptions{}.heartbeat).count();

std::string judge_end(const std::string& how, const Process& process) {
  const bool aborts = how == "called MPI_Abort with code " + std::to_string(kAbortCode);
  if (aborts) return process.aborted ? "" : "the rank did not call MPI_Abort";
  if (process.alive) return "the process lives";
  const std::string truth = dlaunch::ExitStatus::from_wait(process.wait_status).describe();
  if (process.rank == 0 && how == truth + " after MPI_Init and without MPI_Finalize") return {};
  return how == truth ? "" : "the process ended in another way";
}

namespace {

/// The times of this round count from its start; earlier events, and the time limit, from the start of the job.
bool is_told(const Told& told, Ns from, Ns to, Said& said) {
  const Ns start = said.truth.round_start();
  const Ns error = said.truth.start_error();
  said.base = 0;
  if ((start == 0 || from < start) && told.is_between(from, to)) return true;
  said.base = start;
  return to + error >= start && told.is_between(from - start, to - start + error);
}

/// The time for which the host or its worker did not run delays the agent's clock readings.
bool life_is(const Told& told, const Process& process, const Said& said) {
  const Ns life = process.aborted.value_or(process.ended) - process.began;
  if (told.is(life)) return true;
  const bool delayed = said.truth.met(process.host, {"freeze", "stopw"}, process.began);
  return delayed && told.is_between(life, said.truth.now() - process.began);
}

/// rank R (host H, pid P) HOW after X
std::string rank_failure(const Words& words, Said& said) {
  const Process* process = said.truth.process(std::atoi(words[2].c_str()));
  said.cause = "rank";
  said.first_failure = said.truth.rank(words[0]);
  if (!process || process->kind != Process::Kind::rank) return "no such process";
  if (process->rank != said.first_failure || said.truth.world().host(process->host).name != words[1]) {
    return "the process is another rank, or on another host";
  }
  if (process->round != said.truth.world().round()) return "the process is of another round";
  if (std::string why = judge_end(words[3], *process); !why.empty()) return why;
  if (!life_is(told_time(words[4]), *process, said)) {
    return said.truth.met(process->host, {"clock"}) ? "the time has the jump of the host's clock"
                                                    : "the time is not the life of the process";
  }
  said.base = said.truth.round_start();
  return {};
}

/// rank R (host H) did not start: WHY, or ranks R (hosts H) did not start: WHY
std::string not_started(const Words& words, Said& said) {
  said.cause = "rank";
  const auto ranks = said.truth.told_ranks(words[0]);
  said.first_failure = *ranks.begin();
  said.named = static_cast<int>(ranks.size());
  for (const int rank : ranks) {
    if (!said.truth.lacks_process(rank, said.truth.world().round())) return "the agent could fork a rank";
  }
  said.base = said.truth.round_start();
  return {};
}

std::string too_many_processes(const Words&, Said& said) {
  return said.truth.lacks_process(-1, said.truth.world().round()) ? "" : "each rank was forked";
}

/// rank R (host H, pid P) lost: WHY after X: the first failure has no status.
std::string rank_lost(const Words& words, Said& said) {
  const int host = said.truth.host(words[1]);
  said.cause = "rank";
  said.first_failure = said.truth.rank(words[0]);
  if (host < 0) return "no such host";
  return said.truth.harmed(host) ? "" : "the host is sound";
}

std::string interrupted(const Words& words, Said& said) {
  Truth& truth = said.truth;
  said.cause = "interrupted";
  const Told told = told_time(words[1]);
  bool known = false;
  std::optional<Ns> at;
  for (const auto& [signal, time] : truth.signals()) {
    if (dlaunch::signal_name(signal) != words[0]) continue;
    known = true;
    if (is_told(told, time, truth.running_at(time, Truth::Between::stops), said)) at = said.base + told.time;
  }
  if (!at && truth.managed() && words[0] == "SIGTERM") {
    known = true;
    const Ns last = truth.stopped_since(0) || truth.any_harmed() ? truth.now() : *truth.managed_at() + kTimeError;
    if (is_told(told, *truth.managed_at(), last, said)) at = said.base + told.time;
  }
  if (!known) return "no such signal came";
  if (!at) return "the time is not the time of the signal";
  if (words[2].empty()) return {};
  if (words[2] != "no rank was running") return judge(words[2], said);
  for (const auto& [rank, process] : truth.ranks()) {
    const bool surely = process->began < *at - kTimeError && (process->alive || process->ended > *at + kTimeError);
    if (surely) return "a rank was running";
  }
  return {};
}

std::string interrupted_where(const Words& words, Said& said) {
  if (!said.truth.managed()) return "no batch system ended the job";
  return said.truth.host(words[0]) < 0 ? "no such host" : "";
}

/// timed out after X: ranks R were still running, by --timeout or by --wait-after-first
std::string timed_out_by(bool by_limit, const Words& words, Said& said) {
  Truth& truth = said.truth;
  Ns limit = truth.world().scenario().timeout;
  const Ns after_first = truth.world().scenario().after_first;
  if (!by_limit) {
    Ns first = Interval::kOpen;
    for (const auto& [rank, process] : truth.ranks()) {
      if (!process->alive) first = std::min(first, process->ended);
    }
    if (first == Interval::kOpen) return "the time is not the time limit";
    limit = first + after_first;
  }
  // With --wait-after-first, the launcher counts from the report of the end.
  const Ns reported = by_limit ? limit : truth.running_times(limit - after_first).back();
  const Ns latest = truth.any_harmed() ? truth.now() : truth.running_at(by_limit ? limit : reported + after_first);
  if (!told_time(words[0]).is_between(limit, latest)) return "the time is not the time limit";
  if (words[1].empty()) return {};
  const auto ranks = truth.ranks();
  for (const int rank : truth.told_ranks(words[1])) {
    const auto found = ranks.find(rank);
    if (found == ranks.end()) return "a rank had not begun";
    const Process& process = *found->second;
    const Ns noticed = truth.noticed(process.host, process.ended) + kTimeError;
    if (!process.alive && noticed < limit && !truth.harmed(process.host)) return "a rank was not running any more";
    // A rank that a batch system ended counts as stopped; the report of its end may come after the time limit.
    const bool reported_late = truth.managed() && noticed > limit;
    if (reported_late || truth.met(process.host, {"freeze", "stopw"})) continue;
    if (!process.alive && process.ended < limit - kTimeError) {
      return truth.harmed(process.host) ? "a rank of an impaired host had ended" : "a rank had ended";
    }
  }
  for (const auto& [rank, process] : ranks) {
    if (said.calls_lost(rank)) continue;
    const bool ran = process->alive || process->end != Process::End::by_itself;
    if (ran && process->began < limit - kTimeError && !truth.any_harmed() &&
        !truth.told_ranks(words[1]).contains(rank) && (process->alive || process->ended > limit)) {
      return "another rank was running, too";
    }
  }
  return {};
}

std::string timed_out(const Words& words, Said& said) {
  const Scenario& scenario = said.truth.world().scenario();
  said.cause = "timeout";
  said.base = 0;
  if (scenario.timeout == 0 && scenario.after_first == 0) return "no time limit is set";
  std::string why = scenario.timeout > 0 ? timed_out_by(true, words, said) : "the time is not the time limit";
  if (!why.empty() && scenario.after_first > 0) why = timed_out_by(false, words, said);
  return why;
}

/// a host was lost after X: H: WHY
std::string host_lost(const Words& words, Said& said) {
  said.cause = "lost";
  const int host = said.truth.host(words[1]);
  if (host < 0) return "no such host";
  const Told told = told_time(words[0]);
  said.base = said.truth.round_start();
  std::string why = judge_loss(words[2], host, told, said);
  const bool before_round = told.time < said.truth.round_start();  // in the pause before a restart
  if (why.empty() || !before_round) return why;
  said.base = 0;
  return judge_loss(words[2], host, told, said);
}
/// H: WHY after X, in the line of a restart
std::string host_lost_again(const Words& words, Said& said) { return host_lost({words[2], words[0], words[1]}, said); }

std::string host_unusable(const Words& words, Said& said) {
  said.cause = "lost";
  const int host = said.truth.host(words[0]);
  if (host < 0) return "no such host";
  return judge_loss(words[1], host, {}, said);
}

std::string hosts_lost(const Words& words, Said& said) {
  said.cause = "lost";
  said.base = said.truth.round_start();
  size_t named = 0;
  for (size_t at = said.at + 1; at < said.lines.size(); ++at) {
    const std::string& line = said.lines[at];
    const auto colon = line.find(": ");
    if (colon == std::string::npos) break;
    const auto names = told_names(line.substr(0, colon));
    if (std::ranges::any_of(names, [&](const auto& name) { return said.truth.host(name) < 0; })) break;
    named += names.size();
  }
  return named == std::strtoull(words[0].c_str(), nullptr, 10) ? "" : "another number of hosts follows";
}

/// H: WHY, below the line of the number of lost hosts; or a message of an agent, which has its own rows.
std::string lost_host(const Words& words, Said& said) {
  for (const std::string& name : told_names(words[0])) {
    const int host = said.truth.host(name);
    if (host < 0) return "no such host";
    if (std::string why = judge_loss(words[1], host, {}, said); !why.empty()) return why;
  }
  return {};
}

// ---- stacks ----

std::string stacks(const Words& words, Said& said) {
  if (words[1] != "0") return "no sample of stacks is taken in a world";
  const Ns limit = said.truth.world().scenario().timeout;
  if (words[0] == "time limit reached")
    return limit > 0 && said.truth.now() >= limit ? "" : "the time limit is not reached";
  const auto ranks = said.truth.ranks();
  const auto found = ranks.find(said.truth.rank(words[2]));
  return found == ranks.end() ? "a rank had not begun" : judge_end(words[3], *found->second);
}

std::string no_stacks_from(const Words& words, Said& said) {
  for (const std::string& name : told_names(words[0])) {
    const int host = said.truth.host(name);
    if (host < 0) return "no such host";
    if (!said.truth.harmed(host) && !said.truth.stopped_since(0)) return "the host answers";
  }
  return {};
}

std::string output_failed(const Words&, Said& said) {
  said.cause = "output";
  return said.truth.reader_was_slow() ? "" : "the reader read";
}

// ---- the rank that failed first ----

std::string last_lines(const Words& words, Said& said) {
  if (words[0] != "stdout") return "ranks write to stdout only";
  return said.truth.rank(words[1]) == said.first_failure ? "" : "the rank is not the first failure";
}

/// The quoted lines are written by the rank, in this order. The last is the rank's last one if nothing can be lost.
std::string quoted(const Words&, Said& said) {
  if (said.first_failure < 0) return "no rank is named";
  constexpr size_t kMark = 4;
  std::string all;
  size_t at = said.at;
  for (; at < said.lines.size() && said.lines[at].starts_with("  | "); ++at) {
    const bool of_daemon = said.truth.world().scenario().writes && said.lines[at].starts_with("  | d");
    if (!of_daemon) all += said.lines[at].substr(kMark) + '\n';
  }
  const bool mixed = said.truth.world().scenario().writes && said.truth.world().scenario().loud;
  if (all.empty() || mixed) return {};
  const auto& written = said.truth.world().written();
  const auto found = written.find(said.first_failure);
  if (found == written.end() || found->second.find(all) == std::string::npos) return "the rank did not write this";
  if (said.truth.any_harmed() || said.truth.reader_was_slow() || said.truth.signals().size() > 1) return {};
  // An agent whose lease ended while the launcher was stopped.
  if (said.truth.stopped_since(0) && !said.truth.closed(said.truth.host_of(said.first_failure)).empty()) return {};
  return found->second.ends_with(all) ? "" : "the rank wrote more lines";
}

std::string not_our_kill(const Words&, Said& said) {
  const auto ranks = said.truth.ranks();
  const auto found = ranks.find(said.first_failure);
  if (found == ranks.end() || found->second->wait_status != SIGKILL) return "the rank was not killed by SIGKILL";
  return found->second->end == Process::End::by_signal_of_agent ? "dlaunch sent SIGKILL" : "";
}

// ---- preemption ----

std::string preempted(const Words& words, Said& said) {
  said.cause = "preempted";
  const Told told = told_time(words[1]);
  const bool known = std::ranges::any_of(said.truth.signals(), [&](const auto& signal) {
    return words[0] == dlaunch::signal_name(signal.first) &&
           is_told(told, signal.second, said.truth.running_at(signal.second), said);
  });
  if (!known && !said.truth.managed()) return "no such signal came at this time";
  const auto ranks = said.truth.ranks();
  if (words[2].starts_with("no rank was running")) return ranks.empty() ? "" : "a rank was running";
  if (!words[2].starts_with("all ranks exited with 0")) return {};
  const bool all =
      std::ranges::all_of(ranks, [](const auto& each) { return !each.second->alive && each.second->wait_status == 0; });
  return all ? "" : "not all ranks exited with 0";
}

std::string preemption_begins(const Words& words, Said& said) {
  const bool known = std::ranges::any_of(
      said.truth.signals(), [&](const auto& signal) { return words[0] == dlaunch::signal_name(signal.first); });
  return known || said.truth.managed() ? "" : "no such signal came";
}

}  // namespace

// The sentence about a lost host states the reason and, in the line of the cause, the time of the loss.
std::string judge_loss(const std::string& why, int host, std::optional<Told> loss, Said& said) {
  Truth& truth = said.truth;
  const Ns lost_by = loss ? said.base + loss->time : truth.now();
  if (why == "the agent stopped sending heartbeats") {
    // The last heartbeat was sent up to one interval before the silence began.
    constexpr int kMisses = dlaunch::link::Heartbeat::kMisses;
    // A simulated login has no bootstrap, so the launcher waits for heartbeats of an agent that no login has started.
    const bool never_answered =
        truth.met(host, {"deaf"}) && (truth.world().host(host).in_blocked || !truth.has_agents(host, 1));
    const Ns silence = (kMisses - 1) * kBeat;
    if (loss) {
      const bool silent =
          truth.covered(host, {"silent", "mute", "freeze", "stopw"}, lost_by - silence + kSecond, lost_by - kSecond);
      return silent || never_answered || (truth.unreachable(host, 0) && truth.stopped_since(0))
                 ? ""
                 : "the agent sent heartbeats";
    }
    return truth.met(host, {"silent", "mute", "freeze", "stopw"}) || never_answered ? "" : "the agent sent heartbeats";
  }
  if (why == "the agent does not answer") {
    constexpr Ns kLongest = 25 * kSecond;  // to confirm KILL, with output before
    const Ns since = loss ? std::max<Ns>(0, lost_by - kLongest) : 0;
    const bool silent = truth.met(host, {"silent", "mute", "deaf", "freeze", "stopw"}, since);
    return silent || truth.stopped_since(since) ? "" : "the agent answers";
  }
  if (why.starts_with("lost the connection to the agent: ")) {
    const auto& closed = truth.closed(host);
    if (truth.world().scenario().here && host == 0) return {};  // no network to observe
    if (closed.empty()) return "the connection was not closed";
    if (!loss || (truth.met(host, {"flap"}) && truth.fault_count(host) > 2)) return {};  // overlapping silences
    // The launcher may have been stopped just before the begin of the round: the loss is then as old as the round.
    if (truth.stopped_since(said.base) && loss->is_between(0, truth.start_error())) return {};
    for (const Ns time : closed) {
      // The launcher's own end of a cut connection is reset, also of a silent host.
      const bool cut = truth.met(host, {"cut"}) && loss->is(truth.running_at(time) - said.base);
      constexpr Ns kFlap = 9 * kSecond;
      constexpr Ns kLatency = 20 * kMs;  // a stop of the launcher may begin while the end of the stream is on its way
      for (const Ns left : {time, time + kLatency}) {
        auto times = truth.running_times(left);  // sent before the network lost packets
        std::ranges::copy(truth.running_times(truth.arrival(host, left)), std::back_inserter(times));
        for (const Ns seen : times) {
          const Ns error = truth.start_error();
          const Ns latest = truth.met(host, {"flap"}) ? truth.running_at(seen + kFlap) : seen;
          if (cut || loss->is_between(seen - said.base, latest - said.base + error)) return {};
        }
      }
    }
    return "the connection was closed at another time";
  }
  if (why.starts_with("cannot connect to "))
    return truth.met(host, {"refuse", "refuse1"}) ? "" : "the host accepts logins";
  if (why == "the connection closed before the agent started")
    return truth.closed(host).empty() ? "the connection was not closed" : "";
  if (why.starts_with("timed out after ")) {
    return truth.unreachable(host, 0) || truth.met(host, {"stopw", "killw", "killboth"}) ? "" : "the agent answered";
  }
  if (why.starts_with("the process that creates the rank directories killed"))
    return truth.managed() ? "" : "no batch system ended the job";
  if (why.starts_with("its agent was not ready ")) {
    const bool late = truth.unreachable(host, 0) || truth.harmed(host);
    return late ? "" : "the agent answered";
  }
  if (why == "did not end after SIGKILL") return {};
  return "sentence without a row: H: " + why;
}

const std::vector<Row>& rows_of_causes() {
  static const std::string lost_link =
      "lost the connection to the agent: (?:closed by the other side|[A-Z][a-z ]+)|"
      R"(cannot connect to \S+: [A-Z][a-z ]+|the connection closed before the agent started)";
  static const std::string no_sign =
      R"(the agent stopped sending heartbeats|the agent does not answer|)"
      R"(timed out after \d+ s waiting for the agent|its agent was not ready 5 s after another host failed)";
  static const std::string end = R"(called MPI_Abort with code \d+|killed by signal \d+ \(\w+\)(?:, core dumped)?|)"
                                 R"(exited with code \d+(?: after MPI_Init and without MPI_Finalize)?)";
  static const std::string preparer =
      R"(the process that creates the rank directories killed by signal \d+ \(SIGTERM\))";
  static const std::string loss = lost_link + '|' + no_sign + '|' + preparer;
  static const std::vector<Row> rows = {
      {"rank R exited", R"(rank ([\d/]+) \(host (\S+?), pid (\d+)\) ()" + end + R"() after ([^;]+?))", rank_failure},
      {"rank R is lost", R"(rank ([\d/]+) \(host (\S+?)(?:, pid \d+)?\) lost: ([^;]+?) after (\d[^;]*))", rank_lost},
      {"rank R did not start",
       R"(ranks? ([\d,/-]+) \(hosts? \S+\) did not start: cannot create a process for \S+: [A-Z][a-z ]+)", not_started},
      {"hint about processes", R"(  set a higher limit of processes: ulimit -u, or pids\.max of the cgroup)",
       too_many_processes},
      {"interrupted by S", R"(interrupted by (\w+) after ([^:]+)(?:: (no rank was running|stopped .*))?)", interrupted},
      {"H received a termination signal", R"(  (\S+) received a termination signal)", interrupted_where},
      {"timed out",
       R"(timed out after ([^:]+?)(?:: ranks? ([\d,/-]+)(?: was | were )still running(?: \((\d+) needed KILL\))?)?)",
       timed_out},
      {"a host was lost", R"(a host was lost after ([^:]+): (\S+): (.*))", host_lost},
      {"H: WHY after X", R"((\S+): ()" + loss + R"() after (\d[^;]*))", host_lost_again},
      {"cannot use a host", R"(cannot use a host: (\S+): (.*))", host_unusable},
      {"N hosts were lost", R"((\d+) hosts were lost after [^:]+:)", hosts_lost},
      {"cannot use N hosts", R"(cannot use (\d+) hosts:)", hosts_lost},
      {"H: WHY", R"((\S+): ()" + loss + ")", lost_host},
      {"stacks",
       R"((time limit reached|rank ([\d/]+) (killed by signal \d+ \(\w+\)|exited with code \d+)))"
       R"(; stacks of (\d+) ranks? \(main thread\):)",
       [](const Words& words, Said& said) { return stacks({words[0], words[3], words[1], words[2]}, said); }},
      {"no stacks from H", R"(  no answer from (\S+)(?: \(ranks? [\d,/-]+\))?)", no_stacks_from},
      {"output failed: some was not read", R"(output failed after ([^:]+): some output of the ranks was not read)",
       output_failed},
      {"last lines of rank R", R"(last (stdout|stderr|output) lines of rank ([\d/]+):)", last_lines},
      {"a line of a rank", R"(  \| .*?(?: … \d+ more bytes?)?)", quoted},
      {"hint about SIGKILL",
       R"(  check dmesg on the host: dlaunch did not send SIGKILL; )"
       R"(the sender was the kernel \(out of memory\), a batch system or a user)",
       not_our_kill},
      {"preempted by S",
       R"(preempted by (\w+)(?: from pid \d+| to an agent)? after ([^:]+))"
       R"((?:: (all ranks exited with 0 within .*|no rank was running|ranks? [\d,/-]+ )"
       R"(did not exit within .*?(?: \(\d+ needed KILL\))?))?)",
       preempted},
      {"preempted by S: the ranks have X",
       R"(preempted by (\w+)(?: from pid \d+| to an agent)?: agents send (\w+) to the ranks that catch it; )"
       R"(the ranks have (\d+) s to save their state)",
       preemption_begins},
  };
  return rows;
}

}  // namespace sim
