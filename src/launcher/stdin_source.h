// The launcher's own stdin on its way to the ranks that get it. It reads no more than they take, never from a terminal
// while another process group has it, and never changes a flag of the descriptor, which the user's shell shares.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "launcher/waits.h"

namespace dlaunch::launcher {

class StdinSource {
 public:
  using Send = std::function<void(int rank, std::string bytes, bool eof)>;

  /// Reading begins once `ranks` different ranks have been added or removed.
  StdinSource(asio::io_context& io, int fd, int ranks, Send send);

  /// A rank that takes stdin has started.
  void add(int rank);
  /// False when that is more than was sent to the rank and not granted yet.
  bool granted(int rank, std::uint32_t bytes);
  /// The rank takes no more, or never will.
  void remove(int rank);
  /// This process may be in the foreground again.
  void continued() { wait(); }
  void stop();

 private:
  void wait();
  void read();
  std::size_t allowance() const;
  bool in_background() const;
  void await_foreground();
  void finish();

  asio::io_context& io_;
  const int fd_;
  const size_t ranks_;
  Send send_;
  Readiness readiness_;
  asio::steady_timer foreground_timer_;
  bool waiting_ = false;
  bool done_ = false;
  std::set<int> seen_;                   // added or removed
  std::map<int, std::uint32_t> credit_;  // by rank
};

}  // namespace dlaunch::launcher
