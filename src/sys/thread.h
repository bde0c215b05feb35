// A thread with a small stack, every signal blocked, and a join with a deadline. Its function must own all that it
// touches, because a thread that does not end in time is left behind.
#pragma once

#include <pthread.h>

#include <chrono>
#include <functional>

namespace dlaunch::sys {

class Thread {
 public:
  Thread() = default;
  Thread(Thread&& other) noexcept;
  Thread& operator=(Thread&& other) noexcept;
  /// Leaves the thread running unless it was joined.
  ~Thread();

  /// Returns 0 or an errno.
  int start(std::function<void()> run);
  bool join_until(std::chrono::steady_clock::time_point deadline);

 private:
  pthread_t thread_{};
  bool joinable_ = false;
};

}  // namespace dlaunch::sys
