// Reads one output stream of a rank, for the agent (into frames) and for the launcher (a stream handed over to it).
// It reads only what its consumer allows, which is the back-pressure. It ends at the end of file, or, once the rank has
// ended, when the pipe is empty and stayed so for kDrainIdle, or after kDrainLongest when all that the rank wrote was
// read: a grandchild that keeps it open, silent or not, does not hold the job.
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
  /// What a pipe takes whole (PIPE_BUF). A line that its writer wrote at once comes at once: its first part, shown to
  /// people, would look like a line that stops there. So the part of a line that a read got to is kept until the next
  /// one, where less than this has begun and the rest is there.
  static constexpr size_t kLeastRead = 4096;

  struct Consumer {
    std::function<size_t()> allowance;           ///< bytes it takes now, kLeastRead at least; 0: none until resume()
    std::function<void(std::string_view)> data;  ///< at most what was allowed
    std::function<void()> closed;                ///< once, last; the reader may be destroyed in it
  };

  /// `scratch` is shared by all readers of a loop and outlives them. `fd` becomes non-blocking.
  PipeReader(asio::io_context& io, sys::Fd fd, std::span<char> scratch, Consumer consumer);
  ~PipeReader();

  void resume();
  void rank_ended();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace dlaunch::link
