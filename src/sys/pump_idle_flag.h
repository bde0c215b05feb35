// A flag: the pump has passed on all bytes that it read. The pump's thread sets the flag at each turn; the launcher's
// thread sometimes waits for the flag.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace dlaunch::sys {

class PumpIdleFlag {
 public:
  /// `mutex` guards the state read by `done` in wait().
  explicit PumpIdleFlag(std::mutex& mutex) : mutex_(mutex) {}

  /// Do not call with the mutex locked. Costs two loads if no thread waits.
  void set(bool idle) {
    now_ = idle;
    if (!idle || !awaited_) return;
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  bool now() const { return now_; }

  /// Returns false at the deadline. Calls `done` at each change to idle. Only one thread may wait at a time.
  template <class Done>
  bool wait(std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point deadline, Done done) {
    awaited_ = true;  // set before `done` runs: either `done` reads the new state, or set() reads this flag
    const bool in_time = changed_.wait_until(lock, deadline, std::move(done));
    awaited_ = false;
    return in_time;
  }

 private:
  std::mutex& mutex_;
  std::condition_variable changed_;
  std::atomic<bool> now_ = false;
  std::atomic<bool> awaited_ = false;
};

}  // namespace dlaunch::sys
