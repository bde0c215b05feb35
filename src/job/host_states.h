// The hosts of a job and the state of each host's agent, from its first answer to its last frame. PURE. Owned by Job.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/index_cast.h"
#include "base/time.h"

namespace dlaunch::job {

enum class HostState { waiting, ready, started, finishing, sweeping, gone };

class HostStates {
 public:
  explicit HostStates(const std::vector<std::string>& names) {
    for (const std::string& name : names) add(name);
  }

  void add(std::string name) {
    hosts_.push_back({std::move(name)});
    ++at_index(counts_, HostState::waiting);
  }
  void set(int host, HostState state) {
    Host& changed = at_index(hosts_, host);
    --at_index(counts_, changed.state);
    ++at_index(counts_, state);
    changed.state = state;
    changed.had_ranks = changed.had_ranks || state == HostState::started;
  }

  void set_reached(int host) { at_index(hosts_, host).reached = true; }

  void set_heard(int host, Time now, Time answered) {
    Host& heard = at_index(hosts_, host);
    heard.heard = now;
    heard.answered = std::max(heard.answered, answered);
  }
  void set_gone_by(int host, std::optional<Time> time) { at_index(hosts_, host).gone_by = time; }
  /// The loss of the host was requested.
  void set_losing(int host) { at_index(hosts_, host).losing = true; }

  int size() const { return static_cast<int>(hosts_.size()); }
  int count(HostState state) const { return at_index(counts_, state); }
  HostState of(int host) const { return at_index(hosts_, host).state; }
  const std::string& name(int host) const { return at_index(hosts_, host).name; }
  /// Whether the host's agent can answer Finish.
  bool is_reached(int host) const {
    return at_index(hosts_, host).reached || at_index(hosts_, host).state != HostState::waiting;
  }
  /// Whether processes of the job may run on the host: ranks, or the process that prepares their directories.
  bool had_processes(int host) const { return at_index(hosts_, host).reached || at_index(hosts_, host).had_ranks; }
  /// Whether the host ever got a request to start ranks.
  bool had_ranks(int host) const { return at_index(hosts_, host).had_ranks; }
  /// The time of the host's last frame.
  Time heard(int host) const { return at_index(hosts_, host).heard; }
  /// Whether the host has received all messages that were sent to it until that time.
  bool answers_since(int host, Time sent) const { return at_index(hosts_, host).answered >= sent; }
  std::optional<Time> gone_by(int host) const { return at_index(hosts_, host).gone_by; }
  bool is_losing(int host) const { return at_index(hosts_, host).losing; }

 private:
  struct Host {
    std::string name;
    HostState state = HostState::waiting;
    bool reached = false;
    bool had_ranks = false;
    bool losing = false;
    Time heard = Time::min();
    Time answered = Time::min();
    std::optional<Time> gone_by = {};
  };
  std::vector<Host> hosts_;
  std::array<int, 6> counts_{};  // by state
};

}  // namespace dlaunch::job
