// Reads one output stream of a rank, for the agent (into frames) and for the launcher (a stream handed over to it). It
// reads only what its consumer allows, which is the back-pressure. It ends at end of file. Once the rank has ended, it
// also ends when the pipe stayed empty for kDrainIdle, or after kDrainLongest when all that the rank wrote is read: a
// grandchild that keeps the pipe open, silent or not, does not hold the job.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "sys/fd.h"

namespace dlaunch::link {

inline constexpr std::chrono::milliseconds kDrainIdle{250};
inline constexpr std::chrono::milliseconds kDrainLongest{2000};

class PipeReader {
 public:
  /// What a pipe takes in one write (PIPE_BUF). A line that was written at once is delivered at once, because people
  /// would take its first part for a whole line. A last line that has begun with less than this is therefore kept for
  /// the next read, where its rest is already in the pipe.
  static constexpr size_t kLeastRead = 4096;

  struct Consumer {
    std::function<size_t()> allowance;           ///< bytes it takes now, at least kLeastRead; 0: none until resume()
    std::function<void(std::string_view)> data;  ///< at most what was allowed
    std::function<void()> closed;                ///< once, as the last call; the reader may be destroyed in it
  };

  /// All readers of a loop share `scratch`, which outlives them. `fd` becomes non-blocking.
  PipeReader(asio::io_context& io, sys::Fd fd, std::span<char> scratch, Consumer consumer);
  ~PipeReader();

  void resume();
  void rank_ended();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace dlaunch::link
