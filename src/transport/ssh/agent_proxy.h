// Connects to the user's ssh-agent: one connection and one request at a time for all hosts, each request with a
// deadline. A host's libssh uses a socket that offers only the keys for this host. Thread-safe; shared by the hosts'
// threads, create with make_shared.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sys/fd.h"
#include "transport/ssh/identity.h"
#include "transport/ssh/watchdog.h"

namespace dlaunch::transport::ssh {

class AgentProxy : public std::enable_shared_from_this<AgentProxy> {
 public:
  AgentProxy(std::string path, std::shared_ptr<Watchdog> watchdog);

  /// All keys of types known to libssh, requested once. Empty if the agent does not answer.
  std::vector<AgentKey> keys();

  /// A socket that behaves like an agent with only these keys, until the socket is closed. After the agent refused a
  /// signature with a key, the socket offers only the keys after this key. Empty if no thread can be created.
  sys::Fd show(std::vector<AgentKey> keys);

  /// Why the agent cannot be used any more; empty while the agent works.
  std::string trouble() const;

 private:
  std::optional<std::string> ask(std::string_view request);
  std::optional<std::string> exchange(std::string_view request);
  bool connect();
  bool wait(short events) const;
  bool send(std::string_view bytes) const;
  std::optional<std::string> receive(size_t size) const;
  void serve(const sys::Fd& host, const std::vector<AgentKey>& keys);

  const std::string path_;
  const std::shared_ptr<Watchdog> watchdog_;
  mutable std::mutex mutex_;
  sys::Fd connection_;
  std::string trouble_;
  std::optional<std::vector<AgentKey>> keys_;
};

}  // namespace dlaunch::transport::ssh
