// An event loop for tests: runs until a condition is true or a time limit is reached.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>

namespace dlaunch::link {

inline constexpr std::chrono::seconds kPatience{10};

/// Waits in short steps, because a test may wait for a condition without a callback.
class Loop {
 public:
  Loop() : work_(asio::make_work_guard(io_)) { std::signal(SIGPIPE, SIG_IGN); }

  asio::io_context& io() { return io_; }

  /// Returns whether `happened` became true within kPatience. Calls `happened` again after each `step`; 0: without a
  /// wait.
  bool until(const std::function<bool()>& happened, std::chrono::milliseconds step = std::chrono::milliseconds(20)) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!happened()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      step.count() > 0 ? io_.run_one_for(step) : io_.poll();
    }
    return true;
  }

  /// Runs the loop for this time.
  void pass(std::chrono::milliseconds time) { io_.run_for(time); }

 private:
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
};

/// Bytes with a long period, so that a test detects a lost or repeated piece.
inline std::string pattern(size_t size) {
  std::string bytes(size, '\0');
  unsigned state = 1;
  for (char& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

}  // namespace dlaunch::link
