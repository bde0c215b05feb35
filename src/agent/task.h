// One feature of the agent, such as ranks, MPI, stacks or commands. The Agent passes messages to its tasks, in order.
// The ends of a task's children: children.h.
#pragma once

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
  /// Called at each heartbeat.
  virtual void tick() {}
  /// The job ends: from now on the task starts no child.
  virtual void stop() {}
};

}  // namespace dlaunch::agent
