// Passive helpers with which the launcher waits on its loop: Readiness (shared descriptors), WriteWaits (writers),
// Deadline (points in time). Members of their users; the loop must outlive these objects.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/lifetime.h"
#include "base/time.h"
#include "link/timer.h"
#include "output/fd_writer.h"

namespace dlaunch::launcher {

/// The interval of progress reports during a wait for hosts or ranks.
inline constexpr std::chrono::milliseconds kProgressTick{200};
/// The maximum total wait for files after the job's deadline.
inline constexpr std::chrono::seconds kHurriedFilesWait{1};

/// Waits for a descriptor that the user's shell shares. Asio would make the descriptor non-blocking for all processes
/// that share the descriptor; therefore this class waits on its own epoll descriptor.
class Readiness {
 public:
  enum class For { reading, writing };

  /// `fd` must outlive this object. A descriptor rejected by epoll (a regular file) is not watchable(): always ready.
  Readiness(asio::io_context& io, int fd, For what);

  bool watchable() const { return watchable_; }
  /// One callback per wait. No callback after close() or destruction.
  void wait(std::function<void()> ready);
  void close();

 private:
  asio::posix::stream_descriptor epoll_;
  bool watchable_ = false;
  Lifetime lifetime_;
};

/// Waits on the loop until writers can take their bytes, and flushes the writers. Loop and writers must outlive this
/// object.
class WriteWaits {
 public:
  using Waiting = std::function<std::vector<output::FdWriter*>()>;

  /// `waiting` returns the writers with unwritten bytes, `writable` flushes one writer.
  WriteWaits(asio::io_context& io, Waiting waiting, std::function<void(output::FdWriter&)> writable)
      : io_(io), waiting_(std::move(waiting)), writable_(std::move(writable)) {}
  WriteWaits(const WriteWaits&) = delete;
  WriteWaits& operator=(const WriteWaits&) = delete;

  /// Call when a writer may have unwritten bytes.
  void update();

 private:
  struct Wait {
    Readiness readiness;
    bool waiting = false;
  };

  asio::io_context& io_;
  const Waiting waiting_;
  const std::function<void(output::FdWriter&)> writable_;
  std::map<output::FdWriter*, Wait> waits_;
};

/// Calls back at a time that may be moved or unset, also while the call already waits in the loop. If the call is late,
/// this process was stopped: the loop first has kCatchUp to run the handlers that are ready, because the awaited answer
/// may be among them. Owned by parts of the launcher; the loop must outlive this object.
class Deadline {
 public:
  static constexpr std::chrono::milliseconds kLate{100};
  static constexpr std::chrono::milliseconds kCatchUp{50};

  /// `passed` sets the next time, if any. No call after destruction.
  Deadline(asio::io_context& io, std::function<void()> passed) : timer_(io), passed_(std::move(passed)) {}

  void set(std::optional<Time> at) {
    if (at == at_) return;
    at_ = at;
    if (!at) {
      timer_.cancel();
      return;
    }
    timer_.expires_at(*at);
    wait(true);
  }

 private:
  void wait(bool may_be_late) {
    timer_.async_wait(lifetime_.guard([this, may_be_late](asio::error_code error) {
      if (!at_ || !link::is_due(error, timer_)) return;
      if (may_be_late && Clock::now() - timer_.expiry() > kLate) {
        timer_.expires_after(kCatchUp);
        return wait(false);
      }
      at_.reset();
      passed_();
    }));
  }

  asio::steady_timer timer_;
  const std::function<void()> passed_;
  std::optional<Time> at_;
  const Lifetime lifetime_;
};

/// Waits on the loop for the steps of another process, such as the writer of a record.
class LoopWait {
 public:
  explicit LoopWait(asio::io_context& io) : io_(io) {}

  /// Calls step() until it returns -1, and waits before the next call until the descriptor that it returned is
  /// readable; for at most `longest`.
  void run(const std::function<int()>& step, Duration longest);
  /// A signal that ends jobs shortens the current run() and later ones: two of them take at most kHurriedFilesWait.
  void hurry();

 private:
  asio::io_context& io_;
  std::optional<Time> until_;
  bool hurried_ = false;  // during run()
};

/// Runs the handlers that are ready, also if one of them stops the loop.
void run_ready_handlers(asio::io_context& io);

}  // namespace dlaunch::launcher
