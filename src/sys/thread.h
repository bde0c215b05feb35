// A thread with a small stack, every signal blocked, and a join with a deadline. Its function must own all its data,
// because a thread that does not end in time is abandoned.
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
  /// Abandons the thread unless it was joined.
  ~Thread();

  /// Returns 0 or an errno.
  int start(std::function<void()> run);
  bool join_until(std::chrono::steady_clock::time_point deadline);

 private:
  pthread_t thread_{};
  bool joinable_ = false;
};

}  // namespace dlaunch::sys
