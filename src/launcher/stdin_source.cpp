#include "launcher/stdin_source.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cerrno>
#include <utility>

#include "wire/message.h"

namespace dlaunch::launcher {
namespace {

constexpr size_t kReadSize = 64u << 10;
constexpr std::chrono::milliseconds kForegroundPoll{250};  // `fg` does not send a signal to a running job

bool readable_now(int fd) {
  pollfd now{fd, POLLIN, 0};
  return ::poll(&now, 1, 0) > 0;
}

}  // namespace

StdinSource::StdinSource(asio::io_context& io, int fd, int ranks, Handlers handlers)
    : io_(io),
      fd_(fd),
      ranks_(static_cast<size_t>(ranks)),
      handlers_(std::move(handlers)),
      readiness_(io, fd, Readiness::For::reading),
      foreground_timer_(io) {}

void StdinSource::add(int rank) {
  credit_[rank] = wire::kStdinCredit;
  seen_.insert(rank);
  wait();
}

bool StdinSource::granted(int rank, std::uint32_t bytes) {
  const auto found = credit_.find(rank);
  if (found == credit_.end()) return true;
  if (bytes > wire::kStdinCredit - found->second) return false;
  found->second += bytes;
  wait();
  return true;
}

void StdinSource::remove(int rank) {
  credit_.erase(rank);
  seen_.insert(rank);
  if (credit_.empty() && seen_.size() >= ranks_) return stop();
  wait();
}

void StdinSource::stop() {
  done_ = true;
  foreground_timer_.cancel();
  readiness_.close();
}

size_t StdinSource::allowance() const {
  size_t least = kReadSize;
  for (const auto& [rank, credit] : credit_) least = std::min<size_t>(least, credit);
  return least;
}

bool StdinSource::in_background() const { return ::isatty(fd_) == 1 && ::tcgetpgrp(fd_) != ::getpgrp(); }

void StdinSource::wait() {
  if (seen_.size() < ranks_ || credit_.empty() || done_ || waiting_ || allowance() == 0) return;
  if (in_background()) return await_foreground();
  waiting_ = true;
  auto ready = lifetime_.guard([this] {
    waiting_ = false;
    if (!done_) read();
  });
  if (readiness_.watchable()) {
    readiness_.wait(std::move(ready));
  } else {
    asio::post(io_, std::move(ready));
  }
}

void StdinSource::await_foreground() {
  foreground_timer_.expires_after(kForegroundPoll);
  foreground_timer_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (!error) wait();
  }));
}

void StdinSource::read() {
  if (in_background()) return await_foreground();
  if (readiness_.watchable() && !readable_now(fd_)) return wait();
  const auto buffer = std::make_unique_for_overwrite<char[]>(kReadSize);
  const ssize_t got = ::read(fd_, buffer.get(), allowance());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return wait();
  if (const int error = got < 0 ? errno : 0; error != 0 && error != EBADF && !hung_up()) return fail(error);
  if (got <= 0) return finish();
  const std::string bytes(buffer.get(), static_cast<size_t>(got));
  for (auto& [rank, credit] : credit_) {
    credit -= static_cast<std::uint32_t>(got);
    handlers_.send(rank, bytes, false);
  }
  wait();
}

bool StdinSource::hung_up() const { return ::isatty(fd_) == 0 && errno == EIO; }

/// The loss of a terminal is not an error: SIGHUP ends the job, or the user ignores SIGHUP to keep the job.
void StdinSource::finish() {
  if (hung_up()) handlers_.hung_up();
  for (const auto& [rank, credit] : credit_) handlers_.send(rank, {}, true);
  stop();
}

void StdinSource::fail(int error) {
  stop();
  handlers_.failed(error);
}

}  // namespace dlaunch::launcher
