// A fixture for tests of the launcher. Hosts have scripted agents (one thread each, at the other end of a socket pair)
// or real agents. The test reads the console on demand; each run has a time limit.
#pragma once

#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <asio/steady_timer.hpp>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "dlaunch/job_options.h"
#include "launcher/launcher.h"
#include "wire/codec.h"

namespace dlaunch::launcher {

/// The agent's side of a link, for a script of calls. A call throws Gone after the launcher has closed the link.
class ScriptedAgent {
 public:
  struct Gone {};
  explicit ScriptedAgent(sys::Fd link) : link_(std::move(link)) {}

  void send(const wire::Message& message);
  void send_bytes(std::string_view bytes);
  /// Returns the next message of type T, and drops earlier messages.
  template <class T>
  T expect() {
    for (;;) {
      wire::Message message = next();
      if (T* wanted = std::get_if<T>(&message)) return std::move(*wanted);
    }
  }
  /// Returns the next message, or Ping if none arrives in that time. -1: no time limit.
  wire::Message next(int wait_ms = -1);
  void hello(std::uint32_t version = wire::kVersion);
  void started(std::uint32_t rank) { send(wire::Started{rank, 1000 + rank, 10, 0, {}}); }
  /// Sends the ends of both streams, and Ended.
  void ended(std::uint32_t rank, std::uint32_t wait_status = 0, std::int64_t time_ns = 20);
  void finish();
  void until_gone();
  void close() { link_.reset(); }

 private:
  sys::Fd link_;
  wire::Decoder decoder_;
};

class FakeHosts : public transport::Transport {
 public:
  using Open = std::function<Result<transport::Connection>()>;

  ~FakeHosts() override;
  FakeHosts();
  // One script per host, in the order of the plan's hosts. Each script runs in its own thread.
  void script(std::function<void(ScriptedAgent&)> agent);
  void real(bool passes_fds = false);
  void unreachable();
  // For later connections. Default: an agent that finds nothing to sweep.
  void script_again(std::function<void(ScriptedAgent&)> agent);
  void unreachable_again();
  size_t count() const { return opens_.size(); }

  Result<transport::Connection> open(const plan::Host& host) override;
  /// Fails the test if an agent does not end after the end of its link.
  void close() override;

 private:
  Open scripted(std::function<void(ScriptedAgent&)> agent);
  static Result<transport::Connection> not_reached();

  std::vector<Open> opens_;
  Open again_;
  int opened_ = 0;
  std::vector<std::thread> scripts_;
  std::atomic<int> running_{0};
  std::vector<int> agents_;
};

/// A pipe, read from begin() on, or after the run.
class Console {
 public:
  Console();
  ~Console();
  int fd() const { return write_.get(); }
  void begin();
  /// Closes the pipe and returns all written bytes.
  std::string text();

 private:
  sys::Fd read_, write_;
  std::thread reader_;
  std::string text_;
};

class LauncherFixture : public testing::Test {
 protected:
  LauncherFixture();
  ~LauncherFixture() override;
  /// Runs `ranks` ranks of the program on each host. `change` edits the plan.
  job::Outcome run(std::vector<std::string> argv = {"true"}, int ranks = 1,
                   const std::function<void(plan::Plan&)>& change = {});
  void after(int milliseconds, std::function<void()> then);

  FakeHosts hosts;
  JobOptions settings;
  job::Policy& policy = settings.policy;
  Console out, err;
  Listener* listener = nullptr;
  Round round = {};
  std::function<void(Launcher&)> after_round = {};  // called before the hosts are closed
  bool read_at_once = true;
  spdlog::logger log{"silent"};

  asio::io_context io{1};

 private:
  Listener silent_;
  std::vector<std::unique_ptr<asio::steady_timer>> timers_;
};

}  // namespace dlaunch::launcher
