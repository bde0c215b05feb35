// Whether a pump has passed on all that it read: set by its thread at each turn, rarely awaited by the launcher's.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace dlaunch::transport::ssh {

class PumpIdleFlag {
 public:
  /// `mutex` guards what a wait looks at.
  explicit PumpIdleFlag(std::mutex& mutex) : mutex_(mutex) {}

  /// Must not be called under the mutex. Costs two loads when nobody waits.
  void set(bool idle) {
    now_ = idle;
    if (!idle || !awaited_) return;
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  bool now() const { return now_; }

  /// False at the deadline. Calls `done` whenever this becomes idle. Only one thread waits at a time.
  template <class Done>
  bool wait(std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point deadline, Done done) {
    awaited_ = true;  // set before `done` looks, so that either it sees the new state or set() sees this
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

}  // namespace dlaunch::transport::ssh
