// Feeds every rank's output to Output: from pipes of a local agent, or from frames of a remote agent. Back-pressure:
// while Output is not ready for a stream, its pipe is not read, or its sender gets no credit. Owned by the Launcher;
// loop and output must outlive this object.
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

  /// `drained(rank)` is called when all open streams of the rank have ended.
  RankStreams(asio::io_context& io, OutputDriver& output, int ranks, std::function<void(int rank)> drained);

  /// Sets the number of ranks.
  void add_ranks(int ranks) { ranks_.resize(static_cast<size_t>(ranks)); }
  /// Sets the rank's streams; a rank without streams is drained at once.
  void opened(int rank, std::array<sys::Fd, output::kStreams> handed_over);
  void opened_remote(int rank, std::array<bool, output::kStreams> streams, std::uint32_t credit, const Grant& grant);
  /// Returns the protocol error (more bytes than granted, or bytes after the end), or an empty text.
  std::string received(int rank, output::Stream stream, std::string bytes, std::int64_t wall_ns);
  void rank_ended(int rank);
  /// No more output will arrive: the rank's host is lost, or the rank never started.
  void abandon(int rank);
  /// Whether a stream is paused because its earlier bytes were not taken.
  bool any_waits() const { return !parked_.empty(); }
  /// Tries paused streams again, because Output may be ready for them.
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
    bool ends = false;           // the stream ends after the queued pieces
    std::uint32_t window = 0;    // the first grant
    std::uint32_t consumed = 0;  // bytes not granted again yet
    std::uint32_t granted = 0;   // bytes that may still arrive
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
