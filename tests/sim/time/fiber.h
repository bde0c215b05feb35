// The code of a simulated process on a separate stack. It runs until it waits. The waits of its loop
// give the control back to the world. Killing a fiber throws through its stack, so nothing leaks.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "time/virtual_time.h"

namespace sim {

class Fiber {
 public:
  explicit Fiber(std::function<void()> run);
  ~Fiber() { kill(); }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The fiber that runs; nullptr: the launcher.
  static Fiber* current();

  /// Whether resume() would let the fiber do something.
  bool is_runnable(Ns now) const;
  std::optional<Ns> deadline() const { return deadline_; }
  /// Runs the fiber until it waits or ends.
  void resume();
  void kill();
  bool ended() const { return ended_; }
  /// Called on the fiber.
  void wait(const std::function<bool()>& ready, std::optional<Ns> deadline);

 private:
  struct Killed {};
  struct Unmap {
    void operator()(std::byte* stack) const;
  };
  static void entry();
  void switch_to(ucontext_t& from, ucontext_t& to, bool to_fiber, bool last);

  std::function<void()> run_;
  std::unique_ptr<std::byte, Unmap> stack_;  // pages that a fiber does not touch cost no time
  ucontext_t mine_{};
  ucontext_t back_{};
  const std::function<bool()>* ready_ = nullptr;
  std::optional<Ns> deadline_;
  void* loops_ = nullptr;  // Asio's list of the loops that run on this thread
  void* fake_stack_ = nullptr;
  const void* outer_stack_ = nullptr;
  size_t outer_size_ = 0;
  bool started_ = false;
  bool ended_ = false;
  bool dying_ = false;
};

}  // namespace sim
