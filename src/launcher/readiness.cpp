#include "launcher/readiness.h"

#include <sys/epoll.h>

#include <utility>

#include "sys/fd.h"
#include "sys/io.h"

namespace dlaunch::launcher {

Readiness::Readiness(asio::io_context& io, int fd, For what) : epoll_(io) {
  sys::Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) sys::throw_errno("epoll_create1");
  epoll_event event{};
  event.events = what == For::reading ? EPOLLIN : EPOLLOUT;
  watchable_ = ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  epoll_.assign(epoll.release());
}

void Readiness::wait(std::function<void()> ready) {
  epoll_.async_wait(asio::posix::stream_descriptor::wait_read, [ready = std::move(ready)](asio::error_code error) {
    if (!error) ready();
  });
}

void Readiness::close() {
  asio::error_code ignored;
  epoll_.close(ignored);
}

}  // namespace dlaunch::launcher
