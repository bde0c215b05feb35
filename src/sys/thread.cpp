#include "sys/thread.h"

#include <csignal>
#include <ctime>
#include <memory>
#include <utility>

namespace dlaunch::sys {
namespace {

constexpr size_t kStack = 512u << 10;  // getaddrinfo with a plug-in of the resolver needs the most

void* run_it(void* argument) {
  const std::unique_ptr<std::function<void()>> run(static_cast<std::function<void()>*>(argument));
  (*run)();
  return nullptr;
}

}  // namespace

Thread::Thread(Thread&& other) noexcept : thread_(other.thread_), joinable_(std::exchange(other.joinable_, false)) {}

Thread& Thread::operator=(Thread&& other) noexcept {
  std::swap(thread_, other.thread_);
  std::swap(joinable_, other.joinable_);
  return *this;
}

Thread::~Thread() {
  if (joinable_) ::pthread_detach(thread_);
}

int Thread::start(std::function<void()> run) {
  auto argument = std::make_unique<std::function<void()>>(std::move(run));
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStack);
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = ::pthread_create(&thread_, &attributes, run_it, argument.get());
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  joinable_ = error == 0;
  if (joinable_) [[maybe_unused]]
    auto* const the_threads_own = argument.release();
  return error;
}

bool Thread::join_until(std::chrono::steady_clock::time_point deadline) {
  if (!joinable_) return true;
  const auto since_epoch = deadline.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
  const timespec until{seconds.count(), std::chrono::nanoseconds(since_epoch - seconds).count()};
  joinable_ = ::pthread_clockjoin_np(thread_, nullptr, CLOCK_MONOTONIC, &until) != 0;
  return !joinable_;
}

}  // namespace dlaunch::sys
