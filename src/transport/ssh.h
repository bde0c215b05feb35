// Reaches hosts by ssh, through libssh: a thread for each host connects, logs in, starts a shell and then carries bytes
// between it and a socket of the launcher's. Owned by `main`; all calls from its thread.
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
    std::optional<plan::HostKey> host_key;  ///< the user's own word; else the ssh configuration's, else strict
    /// What of the ssh configuration is not heeded, each once, from threads of this, and never after close(). May be
    /// empty.
    std::function<void(const std::string&)> note;
  };

  explicit Ssh(Settings settings);
  ~Ssh() override;

  Result<Connection> open(const plan::Host& host) override;
  /// Once the streams are closed. Ends connections that do not end by themselves; takes 1.5 s at most, however many.
  void close() override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::transport
