// Rows about restarts and spare hosts, messages of agents, and sentences of situations that no world has.
#include <algorithm>
#include <cstdlib>

#include "dlaunch/exit_status.h"
#include "dlaunch/job_options.h"
#include "promises/sentence_table.h"

namespace sim {
namespace {

int number(const std::string& text) { return std::atoi(text.c_str()); }

/// Whether a host whose connection was closed in this round neither is replaced nor leaves the job.
bool keeps_lost_host(const Said& said) {
  const Truth& truth = said.truth;
  for (int rank = 0; rank < truth.world().ranks_at_start(); ++rank) {
    const int host = truth.host_of(rank);
    const std::string& name = truth.world().host(host).name;
    const bool told = truth.removed.contains(host) || std::ranges::any_of(said.lines, [&](const std::string& line) {
                        return line.ends_with(" takes the ranks of " + name) ||
                               (line.starts_with("the job continues without ") && line.find(name) != line.npos);
                      });
    for (const Ns time : truth.closed(host)) {
      if (!told && time > truth.round_start() && truth.noticed(host, time + kTimeError) <= truth.now()) return true;
    }
  }
  return false;
}

/// CAUSE; restart I of N[ in S s]
std::string restart(const Words& words, Said& said) {
  std::string why = judge(words[0], said);
  Truth& truth = said.truth;
  const Scenario& scenario = truth.world().scenario();
  if (number(words[1]) != truth.world().round() + 1) return "it is another restart";
  if (number(words[2]) != scenario.restarts) return "--restarts has another number";
  if (why.empty() && keeps_lost_host(said)) why = "a lost host keeps its ranks";
  truth.restart_at(truth.now() + number(words[3]) * kSecond);
  return why;
}

/// The number of unused spare hosts without a fault.
int sound_spares(const Truth& truth) {
  int sound = 0;
  const Scenario& scenario = truth.world().scenario();
  for (int host = scenario.hosts; host < scenario.hosts + scenario.spares; ++host) {
    sound += !truth.used_spares.contains(host) && !truth.harmed(host) && truth.closed(host).empty();
  }
  return sound;
}

std::string takes(const Words& words, Said& said) {
  Truth& truth = said.truth;
  const int spare = truth.host(words[0]);
  const int lost = truth.host(words[1]);
  if (spare < 0 || lost < 0) return "no such host";
  if (spare < truth.world().scenario().hosts) return "the host is not a spare host";
  if (!truth.used_spares.insert(spare).second) return "the spare host has ranks already";
  for (const Ns time : truth.closed(spare)) {
    if (truth.noticed(spare, time, kTimeError) < truth.now() - kTimeError) return "the spare host is lost";
  }
  const bool gone = truth.harmed(lost) || !truth.closed(lost).empty() || truth.lacks_process_on(lost);
  truth.takers[lost] = spare;
  return gone ? "" : "the replaced host is sound";
}

std::string continues_without(const Words& words, Said& said) {
  Truth& truth = said.truth;
  std::string names = words[0];
  std::erase(names, ' ');
  for (const std::string& name : told_names(names)) {
    const int host = truth.host(name);
    if (host < 0) return "no such host";
    truth.removed.insert(host);
    if (!truth.harmed(host) && truth.closed(host).empty()) return "the host is sound";
  }
  const int left = truth.world().scenario().hosts - static_cast<int>(truth.removed.size());
  if (number(words[2]) != left) return "it is another number of hosts";
  return number(words[1]) == left * truth.world().scenario().ranks ? "" : "it is another number of ranks";
}

// ---- no restart ----

std::string signal_forbids(const Words& words, Said& said) {
  const bool came = std::ranges::any_of(
      said.truth.signals(), [&](const auto& signal) { return dlaunch::signal_name(signal.first) == words[0]; });
  return came ? "" : "no such signal came";
}
std::string limit_forbids(const Words&, Said& said) {
  const Ns limit = said.truth.world().scenario().timeout;
  return limit > 0 && said.truth.now() >= limit ? "" : "the time limit is not reached";
}
std::string doubt_forbids(const Words&, Said& said) {
  const bool doubt = said.has_line("processes may be left: ") || said.has_line("processes of the job may still run");
  return doubt || said.truth.living() > 0 ? "" : "nothing else says that, and no process lives";
}
std::string no_spare_left(const Words& words, Said& said) {
  const int host = said.truth.host(words[0]);
  if (host < 0) return "no such host";
  if (!said.truth.harmed(host) && said.truth.closed(host).empty()) return "the host is sound";
  return sound_spares(said.truth) == 0 ? "" : "a sound spare host is left";
}
std::string too_few_spares(const Words& words, Said& said) {
  int lost = 0;
  for (int host = 0; host < said.truth.world().host_count(); ++host)
    lost += said.truth.harmed(host) || !said.truth.closed(host).empty();
  if (number(words[0]) > lost) return "fewer hosts are lost";
  return number(words[1]) >= sound_spares(said.truth) ? "" : "more spare hosts are left";
}
std::string judge_code(const std::string& code, const Said& said) {
  const bool ended = std::ranges::any_of(said.truth.ranks(), [&](const auto& each) {
    return !each.second->alive && each.second->wait_status == number(code) << 8;
  });
  return ended ? "" : "no rank exited with this code";
}
std::string code_is_final(const Words& words, Said& said) {
  if (said.truth.world().round() != 0) return "it is not the first start";
  return judge_code(words[0], said);
}
std::string code_forbids(const Words& words, Said& said) {
  return dlaunch::JobOptions{}.policy.no_restart_codes.contains(number(words[0])) ? judge_code(words[0], said)
                                                                                  : "the code is not in the list";
}
/// Three rounds in a row had a failure of one kind: a rank that ended in the same way, or the loss of a host.
std::string same_way(const Words& words, Said& said) {
  const int times = number(words[0]);
  const int last = said.truth.world().round();
  if (last + 1 < times) return "fewer rounds ended";
  std::map<int, std::set<int>> rounds_with;
  for (const auto& [pid, process] : said.truth.world().processes().all()) {
    if (process.kind == Process::Kind::rank && !process.alive && process.wait_status != 0 &&
        process.round > last - times)
      rounds_with[process.wait_status].insert(process.round);
  }
  for (int round = last - times + 1; round <= last; ++round) {
    if (said.truth.lacks_process(-1, round)) rounds_with[-1].insert(round);
  }
  for (const auto& [status, rounds] : rounds_with) {
    if (static_cast<int>(rounds.size()) >= times) return {};
  }
  return said.cause == "lost" && said.truth.any_harmed() ? "" : "the rounds failed in different ways";
}

// ---- messages of agents and of the launcher while the job runs ----

std::string spare_lost(const Words& words, Said& said) {
  const int host = said.truth.host(words[0]);
  if (host < said.truth.world().scenario().hosts) return "the host is not a spare host";
  if (said.truth.used_spares.contains(host)) return "the host is not a spare host any more";
  return judge_loss(words[1], host, {}, said);
}

std::string agent_ends(const Words& words, Said& said) {
  Truth& truth = said.truth;
  const int host = truth.host(words[0]);
  if (host < 0) return "no such host";
  const std::string& why = words[1];
  if (why == "silence" || why == "the launcher sent no heartbeat") {
    const bool silent = truth.met(host, {"silent", "deaf", "freeze", "stopw"}) || truth.stopped_since(0);
    return silent ? "" : "the launcher sent heartbeats";
  }
  if (why.ends_with("and the launcher does not answer")) {
    const bool silent = truth.met(host, {"silent", "deaf", "freeze", "stopw"}) || truth.stopped_since(0);
    return silent ? "" : "the launcher answers";
  }
  if (why.starts_with("its parent was killed"))
    return truth.met(host, {"killg", "killboth"}) || truth.managed() ? "" : "the guardian lives";
  if (why.starts_with("the agent received a termination signal"))
    return truth.managed() || truth.met(host, {"killg", "killboth"}) ? "" : "no such signal came";
  if (why == "closed by the other side") return {};
  return "sentence without a row: the agent ends its ranks: " + why;
}

std::string no_spawn(const Words& words, Said& said) {
  if (said.truth.rank(words[0]) != 0) return "the rank does not spawn";
  const Truth& truth = said.truth;
  const bool failed =
      std::ranges::any_of(truth.ranks(), [](const auto& each) { return each.second->wait_status != 0; });
  const Ns limit = truth.world().scenario().timeout;
  const bool out_of_time = limit > 0 && truth.now() >= limit;
  const bool ending = out_of_time || truth.ending_since() || truth.any_harmed() || truth.met_anywhere("termg") ||
                      failed || !truth.signals().empty();
  return ending ? "" : "the job is not ending";
}

/// rank R cannot spawn: H: the reason why dlaunch has no connection to H
std::string no_host_for_spawn(const Words& words, Said& said) {
  if (said.truth.rank(words[0]) != 0) return "the rank does not spawn";
  const int host = said.truth.host(words[1]);
  if (host < said.truth.world().scenario().hosts) return "the host has ranks";
  return said.truth.harmed(host) || !said.truth.closed(host).empty() ? "" : "the host is sound";
}

std::string no_handler(const Words& words, Said& said) {
  if (said.truth.host(words[0]) < 0) return "no such host";
  return said.truth.world().scenario().preempt ? "" : "no --checkpoint-signal is set";
}

/// still waiting for the rank directories of H, such as DIR
std::string still_waiting(const Words& words, Said& said) {
  if (!said.truth.world().scenario().staged) return "the ranks have no directories";
  for (const std::string& name : told_names(words[0])) {
    const int host = said.truth.host(name);
    if (host < 0) return "no such host";
    if (!said.truth.harmed(host) && !said.truth.stopped_since(0)) return "the host is sound";
  }
  return {};
}

}  // namespace

const std::vector<Row>& rows_of_rounds() {
  static const std::vector<Row> rows = {
      {"restart I of N", R"((.*); restart (\d+) of (\d+)(?: in (\d+) s)?)", restart},
      {"H takes the ranks of G", R"((\S+) takes the ranks of (\S+))", takes},
      {"the job continues without H", R"(the job continues without (.*), with (\d+) ranks? on (\d+) hosts?)",
       continues_without},
      {"no restart: received S", R"(no restart: received (\w+) while the round was being stopped)", signal_forbids},
      {"no restart: time limit", R"(no restart: the time limit was reached)", limit_forbids},
      {"no restart: processes may be left", R"(no restart: some processes of the failed round may be left)",
       doubt_forbids},
      {"no restart: no spare host is left", R"(no restart: (\S+) is lost, and no spare host is left)", no_spare_left},
      {"no restart: too few spare hosts",
       R"(no restart: (\d+) hosts are lost, but only (\d+) spare hosts?(?: is| are) left)", too_few_spares},
      {"no restart: exit code of the first start",
       R"(no restart: a restart cannot fix exit code (\d+) of the first start)", code_is_final},
      {"no restart: --no-restart-codes", R"(no restart: exit code (\d+) is in --no-restart-codes)", code_forbids},
      {"no restart: the same way", R"(no restart: the job failed in the same way (\d+) times)", same_way},
  };
  return rows;
}

const std::vector<Row>& rows_of_agents() {
  static const std::vector<Row> rows = {
      {"lost spare host H", R"(lost spare host (\S+): (.*))", spare_lost},
      {"the agent ends its ranks", R"((\S+): the agent ends its ranks: (.*))", agent_ends},
      {"still waiting for the rank directories of H",
       R"(still waiting for the rank directories of (\S+), such as (/.*))", still_waiting},
      {"rank R cannot spawn", R"(rank ([\d/]+) cannot spawn: the job is ending)", no_spawn},
      {"rank R cannot spawn on H", R"(rank ([\d/]+) cannot spawn: (\S+): (.*))", no_host_for_spawn},
      {"ranks do not catch S",
       R"((\S+): ranks? [\d,/-]+ (?:does|do) not catch (\w+), so dlaunch did not send the signal)", no_handler},
  };
  return rows;
}

const std::vector<Row>& rows_not_simulated() {
  static const char* const kStart = "each rank's program starts";
  static const char* const kFiles = "no file has output of ranks";
  static const char* const kSidecar = "no sidecar runs";
  static const char* const kHangs = "no samples of stacks are taken, so no hang is found";
  static const std::vector<Row> rows = {
      {"hint: --stage", R"(  use --stage to copy the program into the rank's directory: a relative path starts there)",
       nullptr, kStart},
      {"hint: memory", R"(  give the rank more memory, or start fewer ranks on its host)", nullptr,
       "hosts have no memory limit"},
      {"rank R with a device", R"(rank \S+ \(host \S+?(?:, pid \d+)?, device \d+\) .*)", nullptr,
       "ranks have no devices"},
      {"rank R did not start", R"(rank \d+ \(host \S+\) did not start: (?:cannot execute|cannot find|cannot enter) .*)",
       nullptr, kStart},
      {"the log file of a rank", R"((?:stdout|stderr|output) of (?:rank \d+|the \w+): .*)", nullptr, kFiles},
      {"last lines in a file", R"(last \w+ lines of .* \(all in .*\):)", nullptr, kFiles},
      {"error file", R"(error file of (?:rank \d+|the \w+) \(.*\):)", nullptr, kFiles},
      {"last lines of the sidecar", R"(last (?:stdout|stderr|output) lines of the \w+:)", nullptr, kSidecar},
      {"input failed", R"(input failed after [^:]+: .*)", nullptr, "stdin can always be read"},
      {"output failed", R"(output failed after [^:]+: (?:cannot .*|the disk .*))", nullptr, kFiles},
      {"hung", R"(hung after [^:]+: no rank wrote or made progress for .*)", nullptr, kHangs},
      {"further messages", R"(\S+: further messages of the agent are not shown)", nullptr, "agents send few messages"},
      {"names of one host", R"(\S+ are names of the same host; each name gets ranks)", nullptr,
       "hosts have one name each"},
      {"stdin ended", R"(stdin ended: the terminal was closed)", nullptr, "no terminal exists"},
  };
  return rows;
}

}  // namespace sim
