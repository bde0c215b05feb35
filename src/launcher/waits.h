// What the launcher waits for on its loop: descriptors that others share, writers, and times.
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

#include "base/time.h"
#include "output/fd_writer.h"

namespace dlaunch::launcher {

/// How often progress is reported to those who wait for hosts or ranks.
inline constexpr std::chrono::milliseconds kProgressTick{200};

/// Waits for a descriptor that the user's shell shares. Asio makes a descriptor non-blocking for everybody who shares
/// it, so this waits for an epoll descriptor of its own that watches it.
class Readiness {
 public:
  enum class For { reading, writing };

  /// `fd` must outlive it. What epoll refuses (regular files) is not watchable(), because it is always ready.
  Readiness(asio::io_context& io, int fd, For what);

  bool watchable() const { return watchable_; }
  /// One call-back for each wait. None after close() or destruction.
  void wait(std::function<void()> ready);
  void close();

 private:
  asio::posix::stream_descriptor epoll_;
  bool watchable_ = false;
};

/// Waits on the loop until writers can take what they hold, and has them flushed. Loop and writers must outlive it.
class WriteWaits {
 public:
  using Waiting = std::function<std::vector<output::FdWriter*>()>;

  /// `waiting` returns the writers with bytes waiting, `writable` flushes one.
  WriteWaits(asio::io_context& io, Waiting waiting, std::function<void(output::FdWriter&)> writable)
      : io_(io), waiting_(std::move(waiting)), writable_(std::move(writable)) {}
  WriteWaits(const WriteWaits&) = delete;
  WriteWaits& operator=(const WriteWaits&) = delete;

  /// To be called when something may have to wait.
  void look();

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

/// Calls back at a time that may move or be unset. Owned by the launcher's parts; the loop must outlive it.
class Deadline {
 public:
  /// `passed` sets the next time, if there is one.
  Deadline(asio::io_context& io, std::function<void()> passed) : timer_(io), passed_(std::move(passed)) {}

  void set(std::optional<Time> at) {
    if (at == at_) return;
    at_ = at;
    if (!at) {
      timer_.cancel();
      return;
    }
    timer_.expires_at(*at);
    timer_.async_wait([this](asio::error_code error) {
      if (error) return;
      at_.reset();
      passed_();
    });
  }

 private:
  asio::steady_timer timer_;
  const std::function<void()> passed_;
  std::optional<Time> at_;
};

}  // namespace dlaunch::launcher
