// Reaches an agent through any command line that gives a byte stream to a shell on the host: ssh, kubectl exec, docker
// exec, srun, a test's `sh -c`. The command is run with `sh` behind it. Owned by `main`.
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

  /// `command`: the line for /bin/sh that reaches a host (remote_command.h); ` sh` is put behind it.
  /// `note`: for what could not be ended. May be empty.
  explicit Exec(CommandFor command, std::function<void(const std::string&)> note = {});
  ~Exec() override;

  Result<Connection> open(const plan::Host& host) override;
  /// Once the streams are closed. Ends commands that do not end by themselves; takes 2.5 s at most, however many.
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
