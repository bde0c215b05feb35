// The launcher's own stdin on its way to the ranks that get it. Reads no more than they take, never from a terminal
// while another group has it, and never changes a flag of the descriptor, which the user's shell shares.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "launcher/readiness.h"

namespace dlaunch::launcher {

class StdinSource {
 public:
  using Send = std::function<void(int rank, std::string bytes, bool eof)>;

  StdinSource(asio::io_context& io, int fd, Send send);

  /// A rank that takes stdin has started. Reading begins when `expected` of them have.
  void add(int rank, int expected);
  void granted(int rank, std::uint32_t bytes);
  void remove(int rank);
  /// We may have come to the foreground.
  void continued() { wait(); }
  void stop();

 private:
  void wait();
  void read();
  std::size_t allowance() const;
  bool in_background() const;
  void finish();

  asio::io_context& io_;
  const int fd_;
  Send send_;
  Readiness readiness_;
  bool waiting_ = false;
  bool done_ = false;
  bool begun_ = false;
  std::map<int, std::uint32_t> credit_;  // by rank
};

}  // namespace dlaunch::launcher
