// A stage for the launcher: hosts whose agents are scripts (a thread each at the other end of a socket pair) or real
// ones, a console that the test reads when it likes, and a guard against runs that do not end.
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

/// The agent's side of a link, one call after the other. Throws Gone when the launcher has closed it.
class Script {
 public:
  struct Gone {};
  explicit Script(sys::Fd link) : link_(std::move(link)) {}

  void send(const wire::Message& message);
  void send_bytes(std::string_view bytes);
  /// The next message of that kind; what comes before it is dropped.
  template <class T>
  T expect() {
    for (;;) {
      wire::Message message = next();
      if (T* wanted = std::get_if<T>(&message)) return std::move(*wanted);
    }
  }
  /// The next message of any kind; Ping when none comes in that time.
  wire::Message next(int wait_ms = -1);
  void hello(std::uint32_t version = wire::kVersion);
  void started(std::uint32_t rank) { send(wire::Started{rank, 1000 + rank, 10, 0, {}}); }
  /// Output's ends, and Ended.
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
  /// Host by host, in their order. A script runs in a thread of its own.
  void script(std::function<void(Script&)> agent);
  void real(bool passes_fds = false);
  void unreachable();
  /// Of the visits after those; unless said, an agent that finds nothing to sweep.
  void script_again(std::function<void(Script&)> agent);
  void unreachable_again();
  size_t count() const { return opens_.size(); }

  Result<transport::Connection> open(const plan::Host& host) override;
  /// Fails the test when an agent does not end although its link must have.
  void close() override;

 private:
  Open scripted(std::function<void(Script&)> agent);
  static Result<transport::Connection> not_reached();

  std::vector<Open> opens_;
  Open again_;
  int opened_ = 0;
  std::vector<std::thread> scripts_;
  std::atomic<int> running_{0};
  std::vector<int> agents_;
};

/// A pipe that is read from begin() on, or from the run's end.
class Console {
 public:
  Console();
  ~Console();
  int fd() const { return write_.get(); }
  void begin();
  /// All that was written. Closes it.
  std::string text();

 private:
  sys::Fd read_, write_;
  std::thread reader_;
  std::string text_;
};

class Stage : public testing::Test {
 protected:
  Stage();
  ~Stage() override;
  /// `ranks` on each host, all with that program; `change` edits the plan.
  job::Outcome run(std::vector<std::string> argv = {"true"}, int ranks = 1,
                   const std::function<void(plan::Plan&)>& change = {});
  void after(int milliseconds, std::function<void()> then);

  FakeHosts hosts;
  JobOptions settings;
  job::Policy& policy = settings.policy;
  Console out, err;
  Listener* listener = nullptr;
  bool read_at_once = true;
  spdlog::logger log{"silent"};

 private:
  asio::io_context io_{1};
  Listener silent_;
  std::vector<std::unique_ptr<asio::steady_timer>> timers_;
};

}  // namespace dlaunch::launcher
