// The user's ssh-agent: one connection and one request at a time however many hosts log in, each with a deadline. A
// host's libssh speaks to it through a socket that shows only the keys meant for that host. Shared by the hosts'
// threads.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sys/fd.h"
#include "transport/ssh/agent_protocol.h"
#include "transport/ssh/watchdog.h"

namespace dlaunch::transport::ssh {

class AgentProxy : public std::enable_shared_from_this<AgentProxy> {
 public:
  AgentProxy(std::string path, std::shared_ptr<Watchdog> watchdog);

  /// All keys of types that libssh knows, asked for once. Empty when no agent answers.
  std::vector<AgentKey> keys();

  /// A socket that speaks as an agent with only these keys, until it is closed. Once the agent has refused to sign with
  /// one of them, only the keys after it are shown. Empty when threads run out.
  sys::Fd show(std::vector<AgentKey> keys);

  /// Why the agent is of no more use; empty while it works.
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
