#include "scenario.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "world/faults.h"

namespace sim {
namespace {

std::string with(std::string text, char from, char to) {
  std::replace(text.begin(), text.end(), from, to);
  return text;
}

Ns to_ns(const std::string& text) {
  size_t used = 0;
  double seconds = -1;
  try {
    seconds = std::stod(text, &used);
  } catch (const std::exception&) {
  }
  if (used != text.size() || !(seconds >= 0 && seconds < 1e6)) {
    throw std::runtime_error("invalid time \"" + text + "\": expected seconds");
  }
  return std::llround(seconds * 1e9);
}

int to_int(const std::string& text) {
  size_t used = 0;
  int value = -1;
  try {
    value = std::stoi(text, &used);
  } catch (const std::exception&) {
  }
  if (used != text.size() || value < 0 || value > 1000) {
    throw std::runtime_error("invalid number \"" + text + "\": expected 0 to 1000");
  }
  return value;
}

void set(Scenario& s, const std::string& name, const std::string& value) {
  const auto flag = [&] { return to_int(value) != 0; };
  if (name == "hosts")
    s.hosts = to_int(value);
  else if (name == "ranks")
    s.ranks = to_int(value);
  else if (name == "restarts")
    s.restarts = to_int(value);
  else if (name == "spares")
    s.spares = to_int(value);
  else if (name == "idle")
    s.idle = to_int(value);
  else if (name == "shrink")
    s.shrink = flag();
  else if (name == "here")
    s.here = flag();
  else if (name == "stdin")
    s.stdin_ = flag();
  else if (name == "staged")
    s.staged = flag();
  else if (name == "preempt")
    s.preempt = flag();
  else if (name == "spawn")
    s.spawn = to_int(value);
  else if (name == "shell")
    s.shell = flag();
  else if (name == "grace")
    s.grace = to_ns(value);
  else if (name == "timeout")
    s.timeout = to_ns(value);
  else if (name == "afterfirst")
    s.after_first = to_ns(value);
  else if (name == "length")
    s.length = to_ns(value);
  else if (name == "skew")
    s.skew = to_ns(value);
  else if (name == "deaf")
    s.deaf.insert(to_int(value));
  else if (name == "stuck")
    s.stuck.insert(to_int(value));
  else if (name == "daemon")
    s.daemons.insert(to_int(value));
  else if (name == "writes")
    s.writes = flag();
  else if (name == "loud")
    s.loud = flag();
  else if (name == "bug")
    s.bug = flag();
  else if (name == "seed")
    s.seed = std::stoull(value);
  else
    throw std::runtime_error("unknown word \"" + name + "=\" in a world");
}

Moment parse_moment(const std::string& word) {
  if (word.starts_with('@')) return {Moment::After::start, to_ns(word.substr(1))};
  if (word.starts_with('+')) return {Moment::After::fault, to_ns(word.substr(1))};
  const auto plus = word.rfind('+');
  const bool sent = word.starts_with('!');
  if ((!sent && !word.starts_with('?')) || plus == std::string::npos) {
    throw std::runtime_error("invalid moment \"" + word +
                             "\": expected @SECONDS, +SECONDS, !MESSAGE+SECONDS or ?TEXT+SECONDS");
  }
  return {sent ? Moment::After::sent : Moment::After::printed, to_ns(word.substr(plus + 1)),
          with(word.substr(1, plus - 1), '_', ' ')};
}

Fault parse_fault(const std::string& part) {
  std::istringstream words(part);
  std::string moment, kind, host, word, length;
  words >> moment >> kind >> host;
  if (host.size() < 2 || host[0] != 'n')
    throw std::runtime_error("invalid fault \"" + part + "\": expected MOMENT KIND nHOST");
  Fault fault{parse_moment(moment), kind, to_int(host.substr(1)), 0};
  if (words >> word >> length) fault.length = to_ns(length);
  if (!is_fault(kind)) throw std::runtime_error("unknown fault \"" + kind + "\"");
  return fault;
}

std::string moment_text(const Moment& moment) {
  const std::string delay = seconds_text(moment.delay);
  switch (moment.after) {
    case Moment::After::start:
      return '@' + delay;
    case Moment::After::fault:
      return '+' + delay;
    case Moment::After::sent:
      return '!' + moment.text + '+' + delay;
    case Moment::After::printed:
      return '?' + with(moment.text, ' ', '_') + '+' + delay;
  }
  return {};
}

}  // namespace

bool Scenario::is_whole() const {
  const auto ranks_exist = [this](const std::set<int>& which) {
    return which.empty() || *which.rbegin() < ranks_with_spawned();
  };
  return hosts > 0 && ranks > 0 && all_hosts() < 64 && all_ranks() < 256 && spawn >= 0 && spawn < 256 &&
         (spares == 0 || idle == 0) && ranks_exist(deaf) && ranks_exist(stuck) && ranks_exist(daemons) &&
         std::ranges::all_of(faults, [this](const Fault& f) { return f.host < all_hosts(); });
}

std::string seconds_text(Ns time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9f", static_cast<double>(time) / 1e9);
  std::string shorter = text;
  shorter.erase(shorter.find_last_not_of('0') + 1);
  if (shorter.ends_with('.')) shorter.pop_back();
  return shorter;
}

std::string to_text(const Scenario& s) {
  std::string text = "hosts=" + std::to_string(s.hosts) + " ranks=" + std::to_string(s.ranks);
  const auto add = [&](const char* name, const std::string& value) { text += std::string(" ") + name + '=' + value; };
  const auto add_set = [&](const char* name, const std::set<int>& ranks) {
    for (const int rank : ranks) add(name, std::to_string(rank));
  };
  if (s.restarts > 0) add("restarts", std::to_string(s.restarts));
  if (s.spares > 0) add("spares", std::to_string(s.spares));
  if (s.idle > 0) add("idle", std::to_string(s.idle));
  if (s.shrink) add("shrink", "1");
  if (s.here) add("here", "1");
  if (s.stdin_) add("stdin", "1");
  if (s.staged) add("staged", "1");
  if (s.preempt) add("preempt", "1");
  if (s.spawn > 0) add("spawn", std::to_string(s.spawn));
  if (s.shell) add("shell", "1");
  add("grace", seconds_text(s.grace));
  if (s.timeout > 0) add("timeout", seconds_text(s.timeout));
  if (s.after_first > 0) add("afterfirst", seconds_text(s.after_first));
  add("length", seconds_text(s.length));
  if (s.skew) add("skew", seconds_text(*s.skew));
  add_set("deaf", s.deaf);
  add_set("stuck", s.stuck);
  add_set("daemon", s.daemons);
  if (s.writes) add("writes", "1");
  if (s.loud) add("loud", "1");
  if (s.bug) add("bug", "1");
  add("seed", std::to_string(s.seed));
  for (const Fault& fault : s.faults) {
    text += " | " + moment_text(fault.moment) + ' ' + fault.kind + " n" + std::to_string(fault.host);
    if (fault.length > 0) text += " for " + seconds_text(fault.length);
  }
  return text;
}

Scenario parse_scenario(const std::string& text) {
  Scenario scenario;
  std::istringstream parts(text);
  std::string part;
  std::getline(parts, part, '|');
  std::istringstream words(part);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) throw std::runtime_error("invalid word \"" + word + "\": expected NAME=VALUE");
    set(scenario, word.substr(0, equals), word.substr(equals + 1));
  }
  while (std::getline(parts, part, '|')) scenario.faults.push_back(parse_fault(part));
  if (!scenario.is_whole()) throw std::runtime_error("the world names a host or a rank that does not exist");
  return scenario;
}

}  // namespace sim
