// One feature of the agent, such as ranks, MPI, stacks or commands. The Agent passes messages and ended children to its
// tasks, in order.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "wire/message.h"

namespace dlaunch::agent {

class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  /// A message of the launcher. nullopt: other tasks receive the message, too. Else the protocol error, or an
  /// empty text: no other task receives the message.
  virtual std::optional<std::string> on(wire::Message& /*message*/) { return std::nullopt; }
  /// A child of this process has ended. Returns true if no other task has to know.
  virtual bool reaped(pid_t /*pid*/, int /*wait_status*/) { return false; }
  /// Called at each heartbeat.
  virtual void tick() {}
  /// The job ends: from now on the task starts no child.
  virtual void stop() {}
};

}  // namespace dlaunch::agent
