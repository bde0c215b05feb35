// The stderr of a transport's command: read as it comes, so that the command never waits for us, shown line by line
// with -v. Its last line, or the one that says that a resource manager ended all, becomes part of the message when the
// host is lost. Owned by a HostLink.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "sys/fd.h"

namespace dlaunch::launcher {

class ErrorTail {
 public:
  ErrorTail(asio::io_context& io, sys::Fd fd, std::function<void(const std::string& line)> told);
  ~ErrorTail();

  /// The last line that was written until now.
  std::string last_line();
  /// Lines that were written until now are not reasons any more, because the command has done its work.
  void forget();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace dlaunch::launcher
