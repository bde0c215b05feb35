// Connects to hosts by ssh, through libssh. A thread per host connects, logs in, starts a shell, and copies bytes
// between the shell and a socket of the launcher. Owned by HostSession (session/host_session.h); all calls come from
// the launcher's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "dlaunch/request.h"
#include "transport/transport.h"

namespace dlaunch::transport {

class Ssh : public Transport {
 public:
  struct Settings {
    std::optional<plan::HostKey> host_key;  ///< --host-key; empty: from the ssh configuration, else strict
    /// Receives each unsupported setting of the ssh configuration once. Called from threads of this object, never after
    /// close(). May be empty.
    std::function<void(const std::string&)> note;
  };

  explicit Ssh(Settings settings);
  ~Ssh() override;

  Result<Connection> open(const plan::Host& host) override;
  /// Call after the streams are closed. Ends the remaining connections within 1.5 s.
  void close() override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::transport
