// Reads the stderr of a transport's command, so that the command never blocks on the launcher, and shows each line with
// -v. When the host is lost, the last line becomes part of the message; a line about a termination by the batch system
// takes precedence. Owned by a HostLink.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "sys/fd.h"
#include "transport/reason_lines.h"

namespace dlaunch::launcher {

class ErrorTail {
 public:
  ErrorTail(asio::io_context& io, sys::Fd fd, std::function<void(const std::string& line)> on_line);
  ~ErrorTail();

  /// The reason so far (transport/reason_lines.h).
  transport::ReasonLine last_line();
  /// The command has done its work: lines so far are not a reason for a later failure.
  void forget();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace dlaunch::launcher
