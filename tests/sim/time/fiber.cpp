#include "time/fiber.h"

#include <sys/mman.h>

#include <asio/detail/call_stack.hpp>
#include <asio/detail/thread_context.hpp>
#include <asio/detail/thread_info_base.hpp>
#include <exception>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace sim {
namespace {

constexpr size_t kStack = 512u << 10;
Fiber* running = nullptr;

// Asio keeps the loops that run in a thread variable. Each fiber has its own list.
using CallStack = asio::detail::call_stack<asio::detail::thread_context, asio::detail::thread_info_base>;
using Top = asio::detail::tss_ptr<CallStack::context>;
Top* top();
template <Top* Member>
struct Access {
  friend Top* top() { return Member; }
};

}  // namespace
}  // namespace sim
template struct sim::Access<&sim::CallStack::top_>;
namespace sim {

Fiber* Fiber::current() { return running; }

void Fiber::Unmap::operator()(std::byte* stack) const { ::munmap(stack, kStack); }

Fiber::Fiber(std::function<void()> run) : run_(std::move(run)) {
  void* const stack = ::mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) throw std::bad_alloc();
  stack_.reset(static_cast<std::byte*>(stack));
  ::getcontext(&mine_);
  mine_.uc_stack.ss_sp = stack_.get();
  mine_.uc_stack.ss_size = kStack;
  mine_.uc_link = nullptr;
  ::makecontext(&mine_, &Fiber::entry, 0);
}

bool Fiber::is_runnable(Ns now) const {
  if (ended_) return false;
  return !started_ || (ready_ && (*ready_)()) || (deadline_ && now >= *deadline_);
}

void Fiber::switch_to(ucontext_t& from, ucontext_t& to, [[maybe_unused]] bool to_fiber, [[maybe_unused]] bool last) {
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  void** const kept = last ? nullptr : to_fiber ? &fake : &fake_stack_;
  __sanitizer_start_switch_fiber(kept, to_fiber ? stack_.get() : outer_stack_, to_fiber ? kStack : outer_size_);
  ::swapcontext(&from, &to);
  __sanitizer_finish_switch_fiber(to_fiber ? fake : fake_stack_, to_fiber ? nullptr : &outer_stack_,
                                  to_fiber ? nullptr : &outer_size_);
#else
  ::swapcontext(&from, &to);
#endif
}

void Fiber::resume() {
  if (ended_) return;
  Fiber* const before = std::exchange(running, this);
  CallStack::context* const outer = *top();
  *top() = static_cast<CallStack::context*>(loops_);
  started_ = true;
  switch_to(back_, mine_, true, false);
  loops_ = static_cast<CallStack::context*>(*top());
  *top() = outer;
  running = before;
}

void Fiber::wait(const std::function<bool()>& ready, std::optional<Ns> deadline) {
  if (dying_) return;  // a destructor waits
  ready_ = &ready;
  deadline_ = deadline;
  switch_to(mine_, back_, false, false);
  ready_ = nullptr;
  deadline_.reset();
  if (dying_ && std::uncaught_exceptions() == 0) throw Killed{};
}

void Fiber::kill() {
  if (ended_) return;
  if (!started_) {
    ended_ = true;
    return;
  }
  dying_ = true;
  resume();
}

void Fiber::entry() {
  Fiber& fiber = *running;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &fiber.outer_stack_, &fiber.outer_size_);
#endif
  try {
    fiber.run_();
  } catch (const Killed&) {
  }
  fiber.ended_ = true;
  fiber.switch_to(fiber.mine_, fiber.back_, false, true);
}

}  // namespace sim
