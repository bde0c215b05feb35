// Reads one output stream of a rank, in the agent (into frames) and in the launcher (from a received descriptor). The
// consumer limits the number of bytes, which gives back-pressure. The reader ends at end of file. After the end of the
// rank, the reader also ends if the pipe was empty for kDrainIdle, or after kDrainLongest if all bytes of the rank are
// read. So a grandchild that keeps the pipe open does not delay the job.
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
  /// The limit of one atomic write to a pipe (PIPE_BUF). The reader never splits a line of one write, because users
  /// would read its first part as a whole line. If a read ends with an incomplete line below this limit, the line waits
  /// for the next read: its other bytes are already in the pipe.
  static constexpr size_t kLeastRead = 4096;

  struct Consumer {
    std::function<size_t()>
        allowance;  ///< the number of accepted bytes now, at least kLeastRead; 0: none until resume()
    std::function<void(std::string_view)> data;  ///< at most the accepted number
    std::function<void()> closed;                ///< the last call, once; may destroy the reader
  };

  /// All readers of a loop share `scratch`, which must outlive them. `fd` becomes non-blocking.
  PipeReader(asio::io_context& io, sys::Fd fd, std::span<char> scratch, Consumer consumer);
  ~PipeReader();

  void resume();
  void rank_ended();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace dlaunch::link
