// Lifetime: protects callbacks that a loop may run after the end of their owner. If the event of a wait comes before
// the wait is cancelled, the callback is queued with success, and runs even if the owner is destroyed before. PURE. A
// member of the owner.
#pragma once

#include <memory>
#include <utility>

namespace dlaunch {

class Lifetime {
 public:
  Lifetime() = default;
  Lifetime(Lifetime&&) = default;
  Lifetime& operator=(Lifetime&&) = default;
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;
  ~Lifetime() = default;

  /// Wraps a callback: does nothing after end() or the destruction of this object.
  template <class Callback>
  auto guard(Callback callback) const {
    return [alive = std::weak_ptr<const char>(alive_), callback = std::move(callback)](auto&&... values) mutable {
      if (!alive.expired()) callback(std::forward<decltype(values)>(values)...);
    };
  }
  void end() { alive_.reset(); }

 private:
  std::shared_ptr<const char> alive_ = std::make_shared<char>();
};

}  // namespace dlaunch
