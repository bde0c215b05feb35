#include "promises/truth.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace sim {

constexpr Ns kLastFlap = 10 * kSecond;  // the longest silence after the end of a flap

void Truth::not_forked(int host, int rank) { not_forked_.push_back({host, rank, world_.round()}); }

bool Truth::lacks_process(int rank, int round) const {
  return std::ranges::any_of(not_forked_, [&](const NotForked& each) {
    return (rank < 0 || each.rank == rank) && (round < 0 || each.round == round);
  });
}

bool Truth::lacks_process_on(int host) const {
  return std::ranges::any_of(not_forked_, [&](const NotForked& each) { return each.host == host; });
}

/// The launcher and an agent on its machine have no network between them: the end of the worker closes the link.
void Truth::ended(const Process& process) {
  const bool direct = world_.scenario().here && process.host == 0;
  if (direct && process.kind == Process::Kind::worker) closed_[process.host].push_back(now());
}

/// An agent that received no Setup closes its connection, and dlaunch connects again.
void Truth::heard(int host, const dlaunch::wire::Message& message) {
  const auto* log = std::get_if<dlaunch::wire::Log>(&message);
  const auto closed = closed_.find(host);
  if (!log || log->level != dlaunch::wire::Log::kNoSetup || closed == closed_.end()) return;
  closed->second.pop_back();
  if (closed->second.empty()) closed_.erase(closed);
}

void Truth::fault(const Fault& fault, bool ends) {
  auto& of_host = faults_[fault.host];
  const std::string kind = fault.kind == "half" ? "silent" : fault.kind;
  const bool network = kind == "silent" || kind == "mute" || kind == "deaf";
  if (ends) {
    for (Interval& each : of_host) {
      const bool same =
          each.kind == kind || (network && (each.kind == "silent" || each.kind == "mute" || each.kind == "deaf"));
      if (same && each.end == Interval::kOpen) each.end = now();
    }
    return;
  }
  of_host.push_back({kind, now()});
  if (fault.kind == "flap" && fault.length > 0) of_host.back().end = now() + fault.length + kLastFlap;
  if (kind_of(fault).of == FaultKind::Of::manager) managed_ = managed_.value_or(now());
  if (kind_of(fault).of == FaultKind::Of::reader) reader_slow_ = true;
}

void Truth::sent(int, const dlaunch::wire::Message& message) {
  const bool ends =
      std::holds_alternative<dlaunch::wire::Signal>(message) || std::holds_alternative<dlaunch::wire::Finish>(message);
  if (ends && !ending_since_) ending_since_ = now();
  if (std::holds_alternative<dlaunch::wire::Spawn>(message)) round_began(world_.round());
}

int Truth::host(std::string_view name) const {
  for (int host = 0; host < world_.host_count(); ++host) {
    if (world_.host(host).name == name) return host;
  }
  return -1;
}

/// A flap is a row of silences.
static bool is_one_of(const std::string& kind, std::initializer_list<std::string_view> kinds) {
  const std::string_view looked_for = kind == "flap" ? "silent" : std::string_view(kind);
  return std::ranges::find(kinds, std::string_view(kind)) != kinds.end() ||
         std::ranges::find(kinds, looked_for) != kinds.end();
}

bool Truth::met(int host, std::initializer_list<std::string_view> kinds, Ns since) const {
  const auto found = faults_.find(host);
  if (found == faults_.end()) return false;
  return std::ranges::any_of(found->second,
                             [&](const Interval& each) { return each.end >= since && is_one_of(each.kind, kinds); });
}

bool Truth::met_anywhere(std::string_view kind) const {
  for (int host = 0; host < world_.host_count(); ++host) {
    if (met(host, {kind})) return true;
  }
  return false;
}

bool Truth::covered(int host, std::initializer_list<std::string_view> kinds, Ns from, Ns to) const {
  const auto found = faults_.find(host);
  if (found == faults_.end()) return false;
  for (bool further = true; further && from < to;) {
    further = false;
    for (const Interval& each : found->second) {
      if (!is_one_of(each.kind, kinds)) continue;
      if (each.begin > from || each.end <= from) continue;
      from = each.end;
      further = true;
    }
  }
  return from >= to;
}

bool Truth::unreachable(int host, Ns since) const {
  return met(host, {"silent", "mute", "deaf", "freeze", "refuse", "refuse1", "slow"}, since);
}

bool Truth::harmed(int host) const {
  return met_anywhere("mgr") || unreachable(host, 0) || met(host, {"cut", "stopw", "killw", "killg", "killboth"});
}

int Truth::fault_count(int host) const {
  const auto found = faults_.find(host);
  return found == faults_.end() ? 0 : static_cast<int>(found->second.size());
}

bool Truth::any_harmed() const {
  for (int host = 0; host < world_.host_count(); ++host) {
    if (harmed(host)) return true;
  }
  return false;
}

bool Truth::any_lost() const { return !closed_.empty() || any_harmed(); }

const std::vector<Ns>& Truth::closed(int host) const {
  static const std::vector<Ns> kNone;
  const auto found = closed_.find(host);
  return found == closed_.end() ? kNone : found->second;
}

bool Truth::has_agents(int host, int number) const {
  const auto& agents = world_.network().agents();
  return std::ranges::count_if(agents, [&](const auto& agent) { return agent->host == host && agent->worker != 0; }) >=
         number;
}

Ns Truth::running_at(Ns time, Between between) const {
  const Ns event = time;
  for (const Interval& stop : stops_) {
    const bool runs_first = stop.begin == time && time != event && between == Between::runs;
    const bool stopped = stop.begin <= time && !runs_first;
    if (stopped && time < stop.end) time = stop.end;
  }
  return time;
}

std::vector<Ns> Truth::running_times(Ns time) const {
  std::vector<Ns> times{time};
  for (Ns next = running_at(time); next != times.back(); next = running_at(next)) times.push_back(next);
  return times;
}

bool Truth::stopped_since(Ns since) const {
  return std::ranges::any_of(stops_, [&](const Interval& stop) { return stop.end >= since; });
}

Ns Truth::arrival(int host, Ns time, Ns on_its_way) const {
  const auto found = faults_.find(host);
  const Ns sent = time;
  for (bool later = found != faults_.end(); later;) {
    later = false;
    for (const Interval& each : found->second) {
      // The launcher's reaction at the end of a silence may begin another one.
      const bool began = each.begin < time || (time == sent && each.begin <= time + on_its_way);
      if (!is_one_of(each.kind, {"silent", "mute"}) || !began || each.end <= time) continue;
      if (each.end == Interval::kOpen) return Interval::kOpen;
      time = each.end;
      later = true;
    }
  }
  return time;
}

bool Truth::has_sweeper(int host, Ns most) const {
  const auto& all = world_.processes().all();
  return std::ranges::any_of(all, [&](const auto& worker) {
    if (worker.second.kind != Process::Kind::worker || worker.second.host != host) return false;
    const int agent = worker.second.agent;
    return worker.second.began >= now() - most && std::ranges::none_of(all, [&](const auto& each) {
             return each.second.kind == Process::Kind::rank && each.second.agent == agent;
           });
  });
}

void Truth::restart_at(Ns time) {
  round_start_ = time;
  round_known_ = false;
  announced_ = world_.round() + 1;
  ending_since_.reset();
}

void Truth::round_began(int round) {
  if (round_known_ || announced_ == 0 || round < announced_ || now() + kSecond < round_start_) return;
  round_known_ = true;
  round_start_ = now();
}

Ns Truth::start_error() const { return announced_ == 0 || announced_round_began() ? 0 : kSecond; }

bool Truth::announced_round_began() const {
  return announced_ == 0 || std::ranges::any_of(world_.processes().all(), [&](const auto& each) {
           return each.second.kind == Process::Kind::rank && each.second.round >= announced_;
         });
}

std::map<int, const Process*> Truth::ranks() const {
  std::map<int, const Process*> found;
  for (const auto& [pid, process] : world_.processes().all()) {
    if (process.kind == Process::Kind::rank && process.round == world_.round()) found[process.rank] = &process;
  }
  return found;
}

const Process* Truth::process(int pid) const {
  const auto& all = world_.processes().all();
  const auto found = all.find(pid);
  return found == all.end() ? nullptr : &found->second;
}

/// The host on which the plan has the rank: that of the first round, or the host that took its ranks.
int Truth::host_of(int rank) const {
  if (rank >= world_.ranks_at_start()) {
    const auto all = ranks();
    const auto found = all.find(rank);
    return found == all.end() ? -1 : found->second->host;
  }
  int host = rank / world_.scenario().ranks;
  for (auto taker = takers.find(host); taker != takers.end(); taker = takers.find(host)) host = taker->second;
  return host;
}

int Truth::rank(const std::string& name) const {
  const auto named = told_ranks(name);
  return named.empty() ? -1 : *named.begin();
}

std::set<int> Truth::told_ranks(const std::string& text) const {
  std::set<int> ranks;
  std::istringstream ranges(text);
  for (std::string range; std::getline(ranges, range, ',');) {
    const auto slash = range.find('/');
    const bool spawned = slash != std::string::npos;
    for (const int rank : told_numbers(spawned ? range.substr(slash + 1) : range))
      ranks.insert(spawned ? world_.ranks_at_start() + rank : rank);
  }
  return ranks;
}

int Truth::count_ranks() const {
  const int first = world_.ranks_at_start();
  const bool forked = std::ranges::any_of(ranks(), [&](const auto& each) { return each.first >= first; });
  const bool spawned = forked || std::ranges::any_of(not_forked_, [&](const NotForked& each) {
                         return each.round == world_.round() && each.rank >= first;
                       });
  return first + (spawned ? world_.scenario().spawn : 0);
}

int Truth::living(int host) const {
  return static_cast<int>(std::ranges::count_if(world_.processes().all(), [&](const auto& each) {
    return each.second.alive && each.second.runs_job() && (host < 0 || each.second.host == host);
  }));
}

Told told_time(const std::string& text) {
  Told told;
  std::istringstream words(text);
  double number = 0;
  for (std::string unit; words >> number >> unit;) {
    const Ns one = unit == "h" ? 3600 * kSecond : unit == "min" ? 60 * kSecond : kSecond;
    told.time += static_cast<Ns>(number * static_cast<double>(one));
    told.error = one / 2;
  }
  const auto point = text.find('.');
  if (point != std::string::npos) told.error = text.find(' ') - point == 3 ? 5 * kMs : 50 * kMs;
  return told;
}

std::set<int> told_numbers(const std::string& text) {
  std::set<int> numbers;
  std::istringstream ranges(text);
  for (std::string range; std::getline(ranges, range, ',');) {
    const auto dash = range.find('-');
    const int first = std::atoi(range.c_str());
    const int last = dash == std::string::npos ? first : std::atoi(range.c_str() + dash + 1);
    for (int number = first; number <= last; ++number) numbers.insert(number);
  }
  return numbers;
}

std::vector<std::string> told_names(const std::string& text) {
  std::vector<std::string> names;
  for (size_t at = 0; at < text.size();) {
    const size_t open = text.find('[', at);
    const size_t comma = text.find(',', at);
    if (open < comma) {
      const size_t close = text.find(']', open);
      if (close == std::string::npos) return names;
      for (const int number : told_numbers(text.substr(open + 1, close - open - 1)))
        names.push_back(text.substr(at, open - at) + std::to_string(number));
      at = close + 2;
    } else {
      names.push_back(text.substr(at, comma - at));
      at = comma == std::string::npos ? text.size() : comma + 1;
    }
  }
  return names;
}

}  // namespace sim
