// Forwards the launcher's stdin to the ranks that receive stdin. Reads only as much as the ranks accept, and not from a
// terminal while another process group is in the foreground. Never changes a flag of the descriptor, because the user's
// shell shares the descriptor. Owned by the Launcher; the loop must outlive this object.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/lifetime.h"
#include "launcher/waits.h"

namespace dlaunch::launcher {

class StdinSource {
 public:
  using Send = std::function<void(int rank, std::string bytes, bool eof)>;
  struct Handlers {
    Send send;
    std::function<void(int error)> failed;  ///< the errno of a read: the ranks get no end of file
    std::function<void()> hung_up;          ///< the terminal is lost, which ends the ranks' stdin
    /// Returns the bytes for the ranks. May be empty: all bytes.
    std::function<std::string(std::string_view typed)> typed = {};
  };

  /// Reading starts after `ranks` different ranks have been added or removed. A descriptor that is not open for
  /// reading, as under nohup, counts as empty.
  StdinSource(asio::io_context& io, int fd, int ranks, Handlers handlers);

  /// A rank that receives stdin has started.
  void add(int rank);
  /// Returns false if the rank grants more than was sent.
  bool granted(int rank, std::uint32_t bytes);
  /// The rank accepts no more stdin, or never will.
  void remove(int rank);
  /// This process may be in the foreground again.
  void continued() { wait(); }
  void stop();
  bool stopped() const { return done_; }
  /// Whether the ranks got bytes from a terminal.
  bool typed() const { return typed_; }
  /// Whether all ranks that receive stdin have started, and one of them has not ended.
  bool reads() const { return !done_ && seen_.size() >= ranks_ && !credit_.empty(); }

 private:
  void wait();
  void read();
  std::size_t allowance() const;
  bool in_background() const;
  void await_foreground();
  void finish();
  void fail(int error);
  bool hung_up() const;

  asio::io_context& io_;
  const int fd_;
  const size_t ranks_;
  const Handlers handlers_;
  Readiness readiness_;
  asio::steady_timer foreground_timer_;
  bool waiting_ = false;
  bool typed_ = false;
  bool done_ = false;
  std::set<int> seen_;                   // added or removed
  std::map<int, std::uint32_t> credit_;  // by rank
  const Lifetime lifetime_;
};

}  // namespace dlaunch::launcher
