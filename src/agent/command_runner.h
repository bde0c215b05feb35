// Answers RunCommands with CommandResults: runs short programs of this host side by side, a few at a time, and gathers
// what they print. Owned by the Agent, which also reaps them; link and loop must outlive it.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <vector>

#include "agent/process_spawner.h"
#include "link/link.h"
#include "wire/message.h"

namespace dlaunch::agent {

class CommandRunner {
 public:
  static constexpr size_t kAtOnce = 16;
  static constexpr size_t kLongestAnswer = 1u << 20;  ///< of one command, if all together print at most kMostPrinted
  static constexpr size_t kMostPrinted = 3u << 20;

  CommandRunner(asio::io_context& io, link::Link& link, const rlimit& open_files);
  ~CommandRunner();

  /// Commands of an earlier request that still run are ended.
  void ask(wire::RunCommands&& request);
  /// Whether the child was one of ours.
  bool reaped(pid_t pid, int wait_status);
  /// The agent is leaving: starts no more children.
  void stop();

 private:
  struct Run;
  void start_next();
  void start(size_t index);
  void read(Run& run);
  void settle(Run& run);
  void tell();

  asio::io_context& io_;
  link::Link& link_;
  const rlimit open_files_;
  ProcessSpawner spawner_;
  asio::steady_timer deadline_;
  wire::RunCommands request_;
  wire::CommandResults told_;
  size_t next_ = 0;
  size_t printed_ = 0;  // bytes that all commands printed
  bool asked_ = false;
  std::vector<std::unique_ptr<Run>> runs_;
};

}  // namespace dlaunch::agent
