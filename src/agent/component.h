// One task of the agent, such as ranks, MPI, stacks or commands. The Agent passes messages and ended children to its
// components in order, and knows none of them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "wire/message.h"

namespace dlaunch::agent {

class Component {
 public:
  Component() = default;
  Component(const Component&) = delete;
  Component& operator=(const Component&) = delete;
  virtual ~Component() = default;

  /// A message of the launcher. nullopt: other components receive the message, too. Else the protocol error, or an
  /// empty text: no other component receives it.
  virtual std::optional<std::string> on(wire::Message& /*message*/) { return std::nullopt; }
  /// A child of this process has ended. Returns true if no other component has to know.
  virtual bool reaped(pid_t /*pid*/, int /*wait_status*/) { return false; }
  /// Called at each heartbeat.
  virtual void tick() {}
  /// The job ends: from now on the component starts no child.
  virtual void stop() {}
};

}  // namespace dlaunch::agent
