// Reaches an agent through any command line that gives a byte stream to a shell on the host: ssh, kubectl exec, docker
// exec, srun, a test's `sh -c`. The command is run with `sh` behind it. Owned by `main`.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace dlaunch::transport {

class Exec : public Transport {
 public:
  /// `command`: a line for `sh -c`, in which {host} stands for the host's name.
  explicit Exec(std::string command);
  ~Exec() override;

  Result<Opened> open(const plan::Host& host) override;
  void close() override;

 private:
  struct Child;
  const std::string command_;
  std::vector<std::unique_ptr<Child>> children_;
};

/// The command for OpenSSH's client, never prompting.
inline constexpr const char* kSshCommand = "ssh -T -o BatchMode=yes -o ConnectTimeout=10 {host}";

}  // namespace dlaunch::transport
