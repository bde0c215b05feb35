// Reaches an agent by any command line that connects to a shell on the host: ssh, kubectl exec, docker exec, srun, a
// test's `sh -c`. ` sh` is appended to it. Owned by HostSession
// (app/host_session.h).
#pragma once

#include <functional>
#include <string>

#include "transport/running_commands.h"
#include "transport/transport.h"

namespace dlaunch::transport {

class Exec : public Transport {
 public:
  using Ending = transport::Ending;
  using CommandFor = std::function<std::string(const plan::Host&)>;

  /// `command` gives the /bin/sh line that reaches a host (remote_command.h), to which ` sh` is appended. `note` is
  /// told of commands that could not be ended; it may be empty.
  explicit Exec(CommandFor command, std::function<void(const std::string&)> note = {},
                Ending ending = Ending::by_signal);
  ~Exec() override;

  Result<Connection> open(const plan::Host& host) override;
  /// To be called once the streams are closed; RunningCommands::end().
  void close() override;

 private:
  const CommandFor command_;
  const std::function<void(const std::string&)> note_;
  const Ending ending_;
  RunningCommands commands_;
};

}  // namespace dlaunch::transport
