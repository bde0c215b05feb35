// Ends everything that descends from this process: TERM, the grace, KILL, until no child is left or it is given up.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace dlaunch::agent {

inline constexpr std::chrono::seconds kSweepKillWait{5};    ///< for processes in uninterruptible sleep
inline constexpr std::chrono::milliseconds kSweepPoll{20};  ///< new children may appear while old ones are ended

class Sweeper {
 public:
  explicit Sweeper(asio::io_context& io) : timer_(io) {}

  /// `done` gets a line for each process that could not be ended; none is the promise kept. Starting again only
  /// replaces `done`.
  void start(std::chrono::milliseconds grace, std::function<void(std::vector<std::string> left)> done);
  /// No more grace.
  void hurry();
  /// Children were reaped: perhaps it is over. Cheap.
  void children_changed(bool none_left);
  bool running() const { return running_; }

 private:
  using Clock = std::chrono::steady_clock;
  void step();
  void finish(std::vector<std::string> left);

  asio::steady_timer timer_;
  std::function<void(std::vector<std::string>)> done_;
  bool running_ = false;
  bool termed_ = false;
  Clock::time_point kill_at_;
};

}  // namespace dlaunch::agent
