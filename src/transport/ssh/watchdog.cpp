#include "transport/ssh/watchdog.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "sys/io.h"

namespace dlaunch::transport::ssh {

struct Watchdog::Guard::Entry {
  sys::Fd socket;
  Clock::time_point deadline = kNever;
  bool expired = false;
};

struct Watchdog::Guard::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::shared_ptr<Entry>> entries;
  bool ended = false;
  bool leave = false;
  std::shared_ptr<sys::Fd> ended_fd = std::make_shared<sys::Fd>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));

  /// Returns the time of the next check.
  Clock::time_point expire(Clock::time_point now) {
    auto next = kNever;
    for (const auto& entry : entries) {
      if (!entry->expired && entry->deadline <= now) {
        entry->expired = true;
        ::shutdown(entry->socket.get(), SHUT_RDWR);
      }
      if (!entry->expired) next = std::min(next, entry->deadline);
    }
    return next;
  }

  void run() {
    std::unique_lock lock(mutex);
    while (!leave) {
      const auto next = expire(Clock::now());
      if (next == kNever) {
        changed.wait(lock);
      } else {
        changed.wait_until(lock, next);
      }
    }
  }
};

Watchdog::Guard::Guard(std::shared_ptr<Shared> shared, std::shared_ptr<Entry> entry)
    : shared_(std::move(shared)), entry_(std::move(entry)) {}

Watchdog::Guard::~Guard() {
  if (!shared_) return;
  const std::lock_guard lock(shared_->mutex);
  std::erase(shared_->entries, entry_);
}

void Watchdog::Guard::expires_at(Clock::time_point deadline) {
  const std::lock_guard lock(shared_->mutex);
  entry_->deadline = deadline;
  shared_->changed.notify_one();
}

int Watchdog::Guard::fd() const { return entry_->socket.get(); }

bool Watchdog::Guard::expired() const {
  const std::lock_guard lock(shared_->mutex);
  return entry_->expired;
}

bool Watchdog::Guard::ended() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->ended;
}

Watchdog::Watchdog() : shared_(std::make_shared<Guard::Shared>()) {
  if (!*shared_->ended_fd) sys::throw_errno("eventfd");
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->leave = true;
    shared_->changed.notify_one();
  }
  thread_.join_until(std::chrono::steady_clock::now() + std::chrono::seconds(1));  // the thread never waits longer
}

int Watchdog::start() {
  return thread_.start([shared = shared_] { shared->run(); });
}

Watchdog::Guard Watchdog::watch(int fd) {
  auto entry = std::make_shared<Guard::Entry>();
  entry->socket.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  const std::lock_guard lock(shared_->mutex);
  if (shared_->ended || !entry->socket) ::shutdown(fd, SHUT_RDWR);  // a wait without a deadline is forbidden
  shared_->entries.push_back(entry);
  return {shared_, std::move(entry)};
}

void Watchdog::end_all() {
  const std::lock_guard lock(shared_->mutex);
  shared_->ended = true;
  for (const auto& entry : shared_->entries) ::shutdown(entry->socket.get(), SHUT_RDWR);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t wrote = ::write(shared_->ended_fd->get(), &one, sizeof one);
}

std::shared_ptr<const sys::Fd> Watchdog::ended() const { return shared_->ended_fd; }

}  // namespace dlaunch::transport::ssh
