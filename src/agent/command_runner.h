// Answers RunCommands with CommandResults: runs short programs on this host, a few in parallel, and collects their
// output. Owned by the Agent, including the reaping of children; link and loop must outlive this object.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <vector>

#include "agent/process_spawner.h"
#include "base/lifetime.h"
#include "link/link.h"
#include "wire/message.h"

namespace dlaunch::agent {

class CommandRunner {
 public:
  static constexpr size_t kAtOnce = 16;
  static constexpr size_t kLongestAnswer = 1u << 20;  ///< kept bytes of one command's output
  static constexpr size_t kMostPrinted = 3u << 20;    ///< kept bytes of all commands together; the rest is dropped

  CommandRunner(asio::io_context& io, link::Link& link, const rlimit& open_files);
  ~CommandRunner();

  /// Ends running commands of an earlier request.
  void ask(wire::RunCommands&& request);
  /// Whether the child belongs to this object.
  bool reaped(pid_t pid, int wait_status);
  /// The agent is leaving: starts no more children.
  void stop();

 private:
  struct Run;
  void start_next();
  void start(size_t index);
  void read(Run& run);
  void settle(Run& run);
  void send_results();

  asio::io_context& io_;
  link::Link& link_;
  const rlimit open_files_;
  ProcessSpawner spawner_;
  asio::steady_timer deadline_;
  wire::RunCommands request_;
  wire::CommandResults results_;
  size_t next_ = 0;
  size_t printed_ = 0;  // bytes that all commands printed
  bool requested_ = false;
  std::vector<std::unique_ptr<Run>> runs_;
  const Lifetime lifetime_;
};

}  // namespace dlaunch::agent
