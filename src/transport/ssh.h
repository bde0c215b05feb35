// Reaches hosts by ssh, through libssh: for each host a thread connects, logs in, starts a shell and carries bytes
// between it and a socket of the launcher. Owned by HostSession (app/host_session.h); all calls come from the
// launcher's thread.
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
    std::optional<plan::HostKey> host_key;  ///< --host-key; empty: what the ssh configuration says, else strict
    /// Told what of the ssh configuration is not followed: each once, from threads of this object, never after close().
    /// May be empty.
    std::function<void(const std::string&)> note;
  };

  explicit Ssh(Settings settings);
  ~Ssh() override;

  Result<Connection> open(const plan::Host& host) override;
  /// To be called once the streams are closed. Ends all connections that do not end by themselves, in at most 1.5 s.
  void close() override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::transport
