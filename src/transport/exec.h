// Connects to agents with a command line that starts a shell on the host: ssh, kubectl exec, docker exec, srun, a
// test's `sh -c`. The word ` sh` is appended. Owned by HostSession (session/host_session.h).
#pragma once

#include <functional>
#include <string>

#include "transport/command.h"
#include "transport/transport.h"

namespace dlaunch::transport {

class Exec : public Transport {
 public:
  using Ending = transport::Ending;
  using CommandFor = std::function<std::string(const plan::Host&)>;

  /// `command` returns the /bin/sh line for a host (remote_command.h), without ` sh`. `note` receives a line for each
  /// command that could not be ended; may be empty.
  explicit Exec(CommandFor command, std::function<void(const std::string&)> note = {},
                Ending ending = Ending::by_signal);
  ~Exec() override;

  Result<Connection> open(const plan::Host& host) override;
  /// Call after the streams are closed; see RunningCommands::end().
  void close() override;

 private:
  const CommandFor command_;
  const std::function<void(const std::string&)> note_;
  const Ending ending_;
  RunningCommands commands_;
};

}  // namespace dlaunch::transport
