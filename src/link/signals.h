// The signals that a loop receives instead of this process's default actions. One handler at a time. The source
// is separate, because the simulator (tests/sim) links another implementation for the signals of simulated processes.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>

namespace dlaunch::link {

class Signals {
 public:
  explicit Signals(asio::io_context& io);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// From now on the signal waits for next() instead of its default action. `ignored`: this process ignores the signal,
  /// and ignores it again after this object. The signal has its default action at no time in between.
  void add(int signal, bool ignored = false);
  /// Calls the handler once, with the next signal. Signals that arrive without a handler wait for a handler.
  void next(std::function<void(int signal)> handler);
  /// Drops the handler.
  void cancel();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::link
