// Rows for the consequences of the cause: ranks that were stopped or lost, and processes that may be left.
#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "job/rank_states.h"
#include "launcher/sweeps.h"
#include "promises/sentence_table.h"

namespace sim {
namespace {

constexpr Ns kSweep = 60 * kSecond;  // the longest time of a sweep

int number(const std::string& text) { return std::atoi(text.c_str()); }

/// The ranks of this round that signals of dlaunch ended, and the ranks whose end may be counted as such.
struct Stopped {
  int surely = 0;
  int maybe = 0;
  int killed = 0;        // KILL reached the process
  int maybe_killed = 0;  // a foreign KILL came at the same time
};
Stopped stopped_ranks(const Said& said) {
  Stopped found;
  for (const auto& [rank, process] : said.truth.ranks()) {
    if (rank == said.first_failure) continue;
    const bool by_us = !process->alive && process->end != Process::End::by_itself && !process->aborted;
    const auto since = said.truth.ending_since();
    // The messages to an agent on the launcher's machine are not observed.
    const Ns reaping = process->wait_status == SIGKILL ? std::chrono::nanoseconds(dlaunch::job::kReaping).count() : 0;
    const bool signalled = since ? process->ended + reaping + said.truth.world().scenario().clock_error() >= *since
                                 : said.truth.world().scenario().here;
    const bool after = !process->alive && (process->end == Process::End::by_itself || process->aborted) && signalled;
    found.surely += by_us;
    const bool is_stuck = process->alive && said.truth.world().scenario().stuck.contains(rank);
    found.maybe += after || is_stuck;
    (process->aborted ? found.maybe_killed : found.killed) += process->got_kill;  // it may count as failed
    found.maybe_killed += after && !process->got_kill && process->wait_status == SIGKILL;
  }
  return found;
}

std::string judge_kills(const std::string& told, const Said& said) {
  const Stopped truth = stopped_ranks(said);
  const int n = number(told);
  if (n > truth.killed + truth.maybe_killed) return "fewer ranks needed KILL";
  const bool unknown = said.truth.any_lost() || said.has_line("unknown exit status");
  return n >= truth.killed || unknown || !said.truth.world().scenario().stuck.empty() ? "" : "more ranks needed KILL";
}

/// "the " if given, N, K
std::string stopped(const Words& words, Said& said) {
  const int n = words[1].empty() ? 1 : number(words[1]);
  const Stopped truth = stopped_ranks(said);
  if (n > truth.surely + truth.maybe) {
    return said.truth.any_harmed() ? "fewer ranks were stopped (an impaired host)" : "fewer ranks were stopped";
  }
  const bool others_lost = said.has_line("unknown exit status") || said.counts_lost();
  if (n < truth.surely && !others_lost && !said.truth.any_harmed() && said.truth.world().scenario().stuck.empty())
    return "more ranks were stopped";
  const bool all = words[0] == "the ";
  if (all && n + said.named != said.truth.count_ranks()) return "the job has more ranks";
  return judge_kills(words[2], said);
}

/// N ranks failed (HOW): RANKS
std::string failed(const Words& words, Said& said) {
  const auto ranks = said.truth.told_ranks(words[2]);
  if (static_cast<int>(ranks.size()) != number(words[0])) return "another number of ranks is named";
  const auto all = said.truth.ranks();
  for (const int rank : ranks) {
    const auto found = all.find(rank);
    const bool not_forked = words[1].starts_with("did not start: cannot create a process");
    if (not_forked && said.truth.lacks_process(rank, said.truth.world().round())) continue;
    if (found == all.end()) return "a rank had not begun";
    if (std::string why = judge_end(words[1], *found->second); !why.empty()) return why;
    const bool by_agent = found->second->end == Process::End::by_signal_of_agent && !found->second->aborted;
    if (by_agent && !said.truth.managed()) return "dlaunch ended a rank of them";
  }
  return {};
}
std::string failed_differently(const Words& words, Said& said) {
  return static_cast<int>(said.truth.told_ranks(words[2]).size()) == number(words[0])
             ? ""
             : "another number of ranks is named";
}

std::string ranks_lost(const Words& words, Said& said) {
  const auto ranks = said.truth.told_ranks(words[1]);
  if (static_cast<int>(ranks.size()) != number(words[0])) return "another number of ranks is named";
  for (const int rank : ranks) {
    const int host = said.truth.host_of(rank);
    if (host < 0 && (said.truth.any_harmed() || said.truth.stopped_since(0))) continue;
    const bool closed = !said.truth.closed(host).empty() && said.truth.stopped_since(0);
    // Without time between notice and answer, a local agent takes the launcher for silent.
    const bool at_once = said.truth.world().scenario().here && host == 0 && said.truth.met(host, {"termg"});
    const bool sound = !said.truth.harmed(host) && !closed && !at_once && said.truth.removed.empty();
    if (sound && said.truth.world().scenario().stuck.empty()) return "the host of a rank is sound";
  }
  return {};
}

std::string unknown_status(const Words& words, Said& said) {
  const auto all = said.truth.ranks();
  for (const int rank : said.truth.told_ranks(words[0])) {
    const auto found = all.find(rank);
    if (found == all.end()) return "a rank had not begun";
    const bool given_up = said.truth.harmed(found->second->host) || said.truth.hurried();
    const bool recent = found->second->alive || found->second->ended + kTimeError > said.truth.now();
    if (!given_up && !recent) return "the end of a rank of a sound host was known";
  }
  return {};
}

std::string start_unknown(const Words& words, Said& said) {
  for (const int rank : said.truth.told_ranks(words[0])) {
    const int host = said.truth.host_of(rank);
    const bool harmed = host < 0 ? said.truth.any_harmed() : said.truth.harmed(host);
    if (!harmed && !said.truth.hurried()) return "the host of a rank is sound";
  }
  return {};
}

std::string never_started(const Words& words, Said& said) {
  const int not_begun = said.truth.count_ranks() - static_cast<int>(said.truth.ranks().size());
  return number(words[0]) <= not_begun ? "" : "more ranks had begun";
}
std::string not_started_again(const Words& words, Said& said) {
  if (number(words[1]) != said.truth.world().round()) return "it is another restart";
  return never_started(words, said);
}

std::string all_ended(const Words& words, Said& said) {
  const Told told = told_time(words[0]);
  if (said.truth.living() > 0) return "a process lives";
  Ns last = 0;
  for (const auto& [pid, process] : said.truth.world().processes().all()) {
    if (process.runs_job()) last = std::max(last, process.ended);
  }
  // If a signal came several times, the base may be the start of the job.
  const Ns base = std::max(said.base, said.truth.round_start());
  if (last > base + told.time + told.error + kTimeError) return "the last process ended later";
  return said.base + told.time - told.error > said.truth.now() ? "the time has not come yet" : "";
}

std::string nothing_left(const Words& words, Said& said) {
  for (const std::string& name : told_names(words[0])) {
    const int host = said.truth.host(name);
    if (host < 0) return "no such host";
    if (said.truth.living(host) > 0) return "a process lives";
    if (!said.truth.has_agents(host, 2)) return "dlaunch did not connect again";
  }
  return {};
}

// ---- processes that may be left ----

std::string still_runs(const Words& words, Said& said) {
  const Process* process = said.truth.process(number(words[2]));
  if (!process || process->rank != said.truth.rank(words[1])) return "no such process";
  if (!process->got_kill) return "no KILL reached the process";
  const bool told = !said.truth.stopped_since(process->ended) && !said.truth.harmed(process->host);
  const bool stuck = said.truth.world().scenario().stuck.contains(process->rank);  // it may end before the summary
  if (process->alive || stuck || !told) return {};
  return process->ended + kTimeError > said.truth.now() ? "" : "the process has ended";
}

std::string not_confirmed(const Words& words, Said& said) {
  const int host = said.truth.host(words[0]);
  if (host < 0) return "no such host";
  if (said.truth.harmed(host) || said.truth.living(host) > 0) return {};
  return said.truth.hurried() ? "" : "the host answers";
}

std::string not_connected(const Words& words, Said& said) {
  const int host = said.truth.host(words[0]);
  if (host < 0) return "no such host";
  const Ns since = std::max<Ns>(0, said.truth.now() - kSweep);
  if (words[1].starts_with("cannot connect to ")) {
    if (said.truth.met(host, {"refuse"})) return {};
    if (!said.truth.met(host, {"refuse1"})) return "the host accepts logins";
    // A login during a silence takes the time of the sweep.
    if (said.truth.met(host, {"silent", "freeze", "flap"}, since)) return {};
    // The refused login may have been the last one for which the sweep had time.
    constexpr Ns kReach = std::chrono::nanoseconds(dlaunch::launcher::Sweeps::kReach).count() + kSecond;
    const bool tried = said.truth.managed() || said.truth.stopped_since(since) || said.truth.has_sweeper(host, kReach);
    return tried ? "" : "dlaunch did not try again";
  }
  if (said.truth.unreachable(host, since) || said.truth.met(host, {"stopw"}, since)) return {};
  if (words[1].ends_with("waiting for the agent's cleanup")) {
    const bool slow = said.truth.met(host, {"silent", "mute", "deaf", "freeze", "stopw"}) || said.truth.managed() ||
                      said.truth.stopped_since(since) || !said.truth.world().scenario().stuck.empty() ||
                      said.truth.fault_count(host) > 1;
    return slow ? "" : "the sweep had too little time";
  }
  if (words[1].starts_with("lost the connection")) {
    const bool direct = said.truth.world().scenario().here && host == 0;  // no network to observe
    return direct || !said.truth.closed(host).empty() ? "" : "the connection was not closed";
  }
  return "the host answers";
}

std::string pid_left(const Words& words, Said& said) {
  const Process* process = said.truth.process(number(words[1]));
  if (!process || said.truth.world().host(process->host).name != words[0]) return "no such process";
  if (!process->runs_job()) return "the process is not of the job";
  if (process->alive) return {};
  if (said.truth.world().scenario().stuck.contains(process->rank)) return {};  // it was stuck for a time
  return said.truth.stopped_since(process->ended) ? "" : "the process has ended";
}

std::string may_run(const Words& words, Said& said) {
  said.hosts = told_names(words[0]);
  for (const std::string& name : said.hosts) {
    const int host = said.truth.host(name);
    if (host < 0) return "no such host";
    const bool reached = !said.truth.unreachable(host, std::max<Ns>(0, said.truth.now() - kSweep));
    if (reached && said.truth.living(host) == 0 && !said.truth.harmed(host) && !said.truth.hurried())
      return "the host can be reached, and nothing runs there";
  }
  return {};
}
std::string command(const Words& words, Said& said) {
  const std::string host = words[0].empty() && said.truth.world().scenario().here ? "n0" : words[0];
  return std::ranges::find(said.hosts, host) != said.hosts.end() ? "" : "the command is for another host";
}
std::string more_commands(const Words& words, Said& said) {
  constexpr size_t kShown = 4;
  return said.hosts.size() == kShown + static_cast<size_t>(number(words[0])) ? "" : "it is another number of hosts";
}

std::string output_missing(const Words&, Said& said) {
  return said.truth.reader_was_slow() || !said.truth.world().reading() ? "" : "the reader read all the time";
}

/// A process holds the stream open, or the network delays its end.
std::string output_not_arrived(const Words&, Said& said) {
  const Scenario& world = said.truth.world().scenario();
  const bool held = !world.daemons.empty() || (!world.stuck.empty() && said.truth.reader_was_slow());
  return said.truth.any_harmed() || held ? "" : "all output arrived";
}

}  // namespace

const std::vector<Row>& rows_of_consequences() {
  static const std::vector<Row> rows = {
      {"stopped N ranks", R"(stopped (?:the other rank|(the )?(\d+) (?:other rank|rank)s?)(?: \((\d+) needed KILL\))?)",
       stopped},
      {"N ranks failed (HOW)", R"((\d+) (?:other )?ranks? failed \((.*)\): ranks? ([\d,/-]+))", failed},
      {"N ranks failed in M ways", R"((\d+) (?:other )?ranks? failed in (\d+) different ways: ranks? ([\d,/-]+))",
       failed_differently},
      {"N ranks were lost", R"((\d+) ranks?(?: was | were )lost: ranks? ([\d,/-]+))", ranks_lost},
      {"unknown exit status", R"(unknown exit status: ranks? ([\d,/-]+))", unknown_status},
      {"unknown whether started", R"(unknown whether started: ranks? ([\d,/-]+))", start_unknown},
      {"N ranks were never started", R"((\d+) ranks?(?: was | were )never started)", never_started},
      {"N ranks were not started again", R"((\d+) ranks?(?: was | were )not started again for restart (\d+))",
       not_started_again},
      {"all processes had ended", R"(all processes had ended after (.*))", all_ended},
      {"no process is left on H",
       R"(no process with the job's environment or control group is left on (\S+) \(dlaunch connected again\))",
       nothing_left},
      {"the batch system ends the processes on H",
       R"(the batch system ends the remaining processes on (\S+) \(dlaunch cannot connect again\))", nullptr,
       "the simulator has no batch system that refuses a new step"},
      {"dlaunch on H ends the processes there",
       R"(dlaunch on (\S+) ends the remaining processes there \(this dlaunch cannot connect again\))", nullptr,
       "no world has a dlaunch on each host"},
      {"may be left: rank R did not end after SIGKILL",
       R"(processes may be left: (\S+): rank ([\d/]+), pid (\d+), did not end after SIGKILL: the host may need a reboot)",
       still_runs},
      {"may be left: the agent did not confirm",
       R"(processes may be left: (\S+): the agent did not confirm in time that all processes ended)", not_confirmed},
      {"may be left: cannot connect again", R"(processes may be left: (\S+): cannot connect again: (.*))",
       not_connected},
      {"may be left: pid P", R"(processes may be left: (\S+): pid (\d+) \(.*)", pid_left},
      {"may be left: directory on H", R"(files may be left: (\S+): cannot remove (/.*): (.*))", nullptr,
       "no world has a directory that cannot be removed"},
      {"processes may still run on H",
       R"(processes of the job may still run on (\S+)(?:; this command kills them:|; these commands kill them:))",
       may_run},
      {"the command that kills them",
       R"re(  echo 'for i in 1 2 3; do for c in \$\(find /sys/fs/cgroup -name "dlaunch-\w+-\*"\); do )re"
       R"re(echo 1 >\$c/cgroup\.kill; rmdir \$c; done; )re"
       R"re(for e in \$\(grep -lzxF DLAUNCH_JOB_ID=\w+ /proc/\[0-9\]\*/environ\); do e=\$\{e#/proc/\}; )re"
       R"re(kill -KILL \$\{e%/\*\}; done; done 2>/dev/null' \| (?:ssh (\S+) )?sh)re",
       command},
      {"and the same for N other hosts", R"(  and the same for (\d+) other hosts?)", more_commands},
      {"the end of the output is missing",
       R"(the end of the ranks' output is missing: stdout or stderr accepted no data in time)", output_missing},
      {"the end of the output may be missing",
       R"(the end of the ranks' output may be missing: agents did not send all output in time)", output_not_arrived},
  };
  return rows;
}

}  // namespace sim
