// Reaches an agent through any command line that gives a byte stream to a shell on the host: ssh, kubectl exec, docker
// exec, srun, a test's `sh -c`. The command is run with `sh` behind it. Owned by `main`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace dlaunch::transport {

class Exec : public Transport {
 public:
  using CommandFor = std::function<std::string(const plan::Host&)>;

  /// `command`: the line for /bin/sh that reaches a host (remote_command.h); ` sh` is put behind it.
  explicit Exec(CommandFor command);
  ~Exec() override;

  Result<Opened> open(const plan::Host& host) override;
  void close() override;

 private:
  struct Child;
  const CommandFor command_;
  std::vector<std::unique_ptr<Child>> children_;
};

}  // namespace dlaunch::transport
