// Waits for a descriptor that the user's shell shares with us. Asio makes what it waits for non-blocking, for everybody
// who shares it; so it waits for an epoll descriptor of ours that watches the user's.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <functional>

namespace dlaunch::launcher {

class Readiness {
 public:
  enum class For { reading, writing };

  /// `fd` must outlive it. What epoll refuses (regular files) is not watchable(): it is always ready.
  Readiness(asio::io_context& io, int fd, For what);

  bool watchable() const { return watchable_; }
  /// One call-back for each wait. None after close() or destruction.
  void wait(std::function<void()> ready);
  void close();

 private:
  asio::posix::stream_descriptor epoll_;
  bool watchable_ = false;
};

}  // namespace dlaunch::launcher
