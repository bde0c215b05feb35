// Reaches an agent by any command line that connects to a shell on the host: ssh, kubectl exec, docker exec, srun, a
// test's `sh -c`. ` sh` is appended to it. Owned by `main`.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "transport/command.h"
#include "transport/transport.h"

namespace dlaunch::transport {

class Exec : public Transport {
 public:
  using CommandFor = std::function<std::string(const plan::Host&)>;

  /// `command` gives the /bin/sh line that reaches a host (remote_command.h), to which ` sh` is appended. `note` is
  /// told of commands that could not be ended; it may be empty.
  explicit Exec(CommandFor command, std::function<void(const std::string&)> note = {});
  ~Exec() override;

  Result<Connection> open(const plan::Host& host) override;
  /// To be called once the streams are closed. Ends all commands that do not end by themselves, in at most 2.5 s.
  void close() override;

 private:
  struct Child {
    Command command;
    std::string host;
  };
  bool wait_for_all(std::chrono::milliseconds limit);
  void signal_all(int signal);

  const CommandFor command_;
  const std::function<void(const std::string&)> note_;
  std::vector<Child> children_;
};

}  // namespace dlaunch::transport
