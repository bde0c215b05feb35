// The limits of a sample: time, memory, and work. Each reader of a process gets the budget; each read fails after it is
// used up. So the sampled process cannot exhaust the sampling process.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace dlaunch::stacks {

class Budget {
 public:
  struct Limits {
    std::size_t bytes = 0;   ///< memory at one time
    std::uint64_t work = 0;  ///< bytes that are read or examined
  };

  explicit Budget(Limits limits, Time deadline = Time::max()) : left_(limits), deadline_(deadline) {}
  /// A part of `whole`, which must outlive it. Memory is charged to both.
  Budget(Limits limits, Time deadline, Budget& whole) : left_(limits), deadline_(deadline), whole_(&whole) {}
  /// Gives the memory back to the whole.
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  /// Charges memory. false: over a limit; then this budget is used up.
  [[nodiscard]] bool keep(std::size_t bytes);
  /// Charges work. false: used up.
  [[nodiscard]] bool spend(std::uint64_t work);

  /// Returns true after the deadline, and after a refused charge.
  bool used_up() const { return refused_ || Clock::now() >= deadline_; }
  Time deadline() const { return deadline_; }
  bool out_of_memory() const { return out_of_memory_; }

 private:
  bool take(std::size_t bytes);

  Limits left_;
  const Time deadline_;
  Budget* const whole_ = nullptr;
  std::size_t kept_ = 0;
  bool refused_ = false;
  bool out_of_memory_ = false;
};

}  // namespace dlaunch::stacks
