// Every rank's output on its way into Output: pipes handed over by a local agent, frames from a remote one. The
// back-pressure: a stream for which Output is not ready is not read (a pipe) or gets no credit (frames).
#pragma once

#include <array>
#include <asio/io_context.hpp>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "launcher/output_driver.h"
#include "link/pipe_reader.h"

namespace dlaunch::launcher {

class RankStreams {
 public:
  using Grant = std::function<void(int rank, output::Stream stream, std::uint32_t bytes)>;

  /// `drained(rank)` is called when every stream that was opened for the rank has ended.
  RankStreams(asio::io_context& io, OutputDriver& output, int ranks, std::function<void(int rank)> drained);

  /// The number of ranks from now on.
  void add_ranks(int ranks) { ranks_.resize(static_cast<size_t>(ranks)); }
  /// Sets the rank's streams; without any it is drained at once.
  void opened(int rank, std::array<sys::Fd, output::kStreams> handed_over);
  void opened_remote(int rank, std::array<bool, output::kStreams> streams, std::uint32_t credit, const Grant& grant);
  /// Returns how the agent breaks the protocol (more than was granted, or more after the end), or an empty text.
  std::string received(int rank, output::Stream stream, std::string bytes, std::int64_t wall_ns);
  void rank_ended(int rank);
  /// The rank's host is lost, or it never started: nothing more will come.
  void abandon(int rank);
  /// Whether a stream is not read, because what it brought before is not taken.
  bool any_waits() const { return !parked_.empty(); }
  /// Tries streams that wait, because Output may be ready for them.
  void resume();

 private:
  struct Piece {
    std::string bytes;
    std::int64_t wall_ns;
  };
  struct Source {
    bool open = false;
    bool parked = false;
    std::unique_ptr<link::PipeReader> pipe;
    std::list<Piece> queue;      // within the granted credit; a list, because an empty deque takes memory
    bool ends = false;           // the end follows what is queued
    std::uint32_t window = 0;    // the first grant
    std::uint32_t consumed = 0;  // bytes not yet granted again
    std::uint32_t granted = 0;   // bytes that may still come
    Grant grant;
  };
  struct Rank {
    std::array<Source, output::kStreams> sources;
    bool drained = false;
  };

  Source& source(int rank, output::Stream stream);
  void read_pipe(int rank, output::Stream stream, sys::Fd fd);
  static void queue(Source& from, std::string bytes, std::int64_t wall_ns);
  void take_queued(int rank, output::Stream stream);
  void park(int rank, output::Stream stream);
  void close(int rank, output::Stream stream);
  void check_drained(int rank);

  asio::io_context& io_;
  OutputDriver& output_;
  std::function<void(int)> drained_;
  std::vector<Rank> ranks_;
  std::deque<std::pair<int, output::Stream>> parked_;  // first come, first served
  std::unique_ptr<char[]> scratch_;                    // kReadSize, shared by all pipes
};

}  // namespace dlaunch::launcher
