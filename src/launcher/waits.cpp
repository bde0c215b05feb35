#include "launcher/waits.h"

#include <sys/epoll.h>

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
  epoll_.async_wait(asio::posix::stream_descriptor::wait_read,
                    lifetime_.guard([ready = std::move(ready)](asio::error_code error) {
                      if (!error) ready();
                    }));
}

void Readiness::close() {
  lifetime_.end();
  asio::error_code ignored;
  epoll_.close(ignored);
}

void WriteWaits::update() {
  for (output::FdWriter* writer : waiting_()) {
    auto found = waits_.find(writer);
    if (found == waits_.end()) {
      found = waits_.emplace(writer, Wait{Readiness(io_, writer->poll_fd(), Readiness::For::writing)}).first;
    }
    Wait& wait = found->second;
    if (std::exchange(wait.waiting, true)) continue;
    wait.readiness.wait([this, writer, &wait] {
      wait.waiting = false;
      writable_(*writer);
      update();
    });
  }
}

constexpr Duration kHurried = Duration(kHurriedFilesWait) / 2;  // of each LoopWait::run()

void LoopWait::run(const std::function<int()>& step, Duration longest) {
  until_ = Clock::now() + (hurried_ ? std::min(longest, kHurried) : longest);
  for (int fd = step(); fd >= 0; fd = step()) {
    bool is_readable = false;
    Readiness readiness(io_, fd, Readiness::For::reading);
    readiness.wait([&] { is_readable = true; });
    while (!is_readable) {
      if (Clock::now() >= *until_) return until_.reset();
      io_.restart();
      io_.run_one_until(*until_);
    }
  }
  until_.reset();
}

void LoopWait::hurry() {
  hurried_ = until_.has_value();
  if (hurried_) until_ = std::min(*until_, Clock::now() + kHurried);
}

void run_ready_handlers(asio::io_context& io) {
  constexpr int kMost = 10'000;  // agents may send without a pause
  int handlers = 0;
  do {
    io.restart();  // a handler may have stopped the loop before the others ran
  } while (io.poll_one() > 0 && ++handlers < kMost);
  io.restart();
}

}  // namespace dlaunch::launcher
