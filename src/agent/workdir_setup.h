// Prepares the directories in which ranks start: emptied, with the files of --stage. A process of its own, a second
// agent with --prepare, does what may take long, so that the heartbeat goes on. It gets Prepare and every Stage through
// a pipe, under the credit that is granted here. Owned by the Agent; link and loop must outlive it.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "agent/process_spawner.h"
#include "agent/stdin_feeder.h"
#include "dlaunch/error.h"
#include "link/link.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::agent {

class WorkdirSetup {
 public:
  static constexpr std::chrono::seconds kPatience{120};  ///< for the next Stage, and for all that follows the last one

  WorkdirSetup(asio::io_context& io, link::Link& link) : io_(io), link_(link), timer_(io) {}

  /// Answers Prepared, once.
  void prepare(wire::Prepare&& asked);
  /// False when that is more than the launcher was granted.
  bool stage(const wire::Stage& stage);
  /// Whether the child was ours.
  bool reaped(pid_t pid, int wait_status);
  /// The job ends: no more answers.
  void stop();

 private:
  struct Sent {
    size_t frame;         // how many bytes of the pipe it takes
    std::uint32_t files;  // how many granted bytes of files it has
  };

  bool start();
  void push(const wire::Message& message, std::uint32_t files);
  void took(size_t bytes);
  void wait();
  void answer(std::string why, std::string hint);

  asio::io_context& io_;
  link::Link& link_;
  asio::steady_timer timer_;
  ProcessSpawner spawner_;
  std::vector<sys::Fd> locks_;  // kept until the job's end
  pid_t pid_ = 0;
  const SpawnFailure* failure_ = nullptr;
  std::unique_ptr<StdinFeeder> in_;
  sys::Fd said_;
  std::deque<Sent> sent_;  // not yet wholly taken
  size_t files_ = 0;       // bytes of files among them
  size_t taken_ = 0;       // of the first of them
};

/// The main function of `dlaunch-agent --prepare`. Returns the exit code. A failure is written to stdout: a line with
/// the failure, and a line with what to do about it.
int prepare_main();

}  // namespace dlaunch::agent
