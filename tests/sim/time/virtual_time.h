// Virtual time for the code under test. The simulator defines the functions of the C and C++ libraries that read a
// clock or wait (virtual_time.cpp), so the product's objects run unchanged. If a loop has nothing to do, its epoll_wait
// or poll calls World (through Kernel), which runs the next event of the simulated world.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace sim {

using Ns = std::int64_t;
inline constexpr Ns kMs = 1'000'000;
inline constexpr Ns kSecond = 1'000'000'000;

/// The functions of the world that the replaced functions call.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Ns now() const = 0;
  /// CLOCK_REALTIME of the host whose code runs, minus CLOCK_REALTIME of the launcher.
  virtual Ns wall_offset() const = 0;
  /// Returns when ready() is true, or at the deadline.
  virtual void wait(const std::function<bool()>& ready, std::optional<Ns> deadline) = 0;
  virtual std::uint32_t random() = 0;
  /// raise(2) of the launcher.
  virtual void raised(int signal) = 0;
};

/// nullptr: real time. One world at a time.
void install(Kernel* kernel);
Kernel* kernel();

/// Real monotonic seconds, also inside a world.
double real_seconds();

}  // namespace sim
