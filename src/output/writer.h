// Writer: the sink of a channel's bytes (console, disk process or FIFO). write() never waits: it queues bytes that the
// sink does not accept. Its owner checks pending() before more writes. Owned by StandardStreams or RankFiles; must
// outlive its channel.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::output {

class Writer {
 public:
  virtual ~Writer() = default;
  virtual void write(std::span<const std::string_view> parts) = 0;  ///< at most kMaxWritten parts
  void write(std::string_view bytes) { write({&bytes, 1}); }
  virtual std::size_t pending() const = 0;

  static constexpr std::size_t kMaxWritten = 4;
};

/// The Error of a file or stream that cannot be written: "cannot WHAT: strerror", with a hint.
Error sink_error(const std::string& what, int error);

}  // namespace dlaunch::output
