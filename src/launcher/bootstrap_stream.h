// Turns a shell on a host into an agent: sends the script, sends the agent's bytes if the host requests them, and
// passes the stream on when frames begin. Owned by a HostLink; no callback runs after its destruction.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "sys/fd.h"
#include "transport/bootstrap.h"

namespace dlaunch::launcher {

class BootstrapStream {
 public:
  struct Handlers {
    std::function<void(sys::Fd stream, std::string rest)> done;
    std::function<void(const std::string& why)> failed;   ///< the shell's answer reports a failure
    std::function<void(const std::string& why)> ended;    ///< the stream ended before an answer
    std::function<void(const std::string& noise)> noise;  ///< output of the shell's startup files; called before done
    std::function<void()> moved;                          ///< a piece of the agent was sent
  };

  BootstrapStream(asio::io_context& io, sys::Fd stream, const std::string& agent_path, Handlers handlers);
  ~BootstrapStream();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace dlaunch::launcher
