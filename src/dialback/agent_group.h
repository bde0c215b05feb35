// Agents that a resource manager starts on some hosts, until each has connected to us: how they are started, the
// listening socket, and a key that is these agents' alone. It has a thread of its own, which also hears, as long as the
// command runs, how the manager ends what it started.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dialback/agent_starter.h"
#include "dialback/messages.h"
#include "dialback/pending_connections.h"
#include "dialback/pump.h"
#include "dlaunch/job_options.h"
#include "sys/thread.h"
#include "transport/reason_lines.h"
#include "transport/running_commands.h"

namespace dlaunch::dialback {

class AgentGroup {
 public:
  struct Awaited {
    plan::Host host;
    std::shared_ptr<NodeConnection> connection;
    bool done = false;  ///< it is in, or will not come
    bool in = false;
  };
  struct Settings {
    DialIn how;
    std::string job_id;
    Messages messages;  ///< called by the thread
    std::shared_ptr<Pump> pump;
  };

  AgentGroup(Settings settings, std::vector<Awaited> hosts);
  ~AgentGroup();

  /// Throws when there is no thread to be had.
  static void begin(const std::shared_ptr<AgentGroup>& group, sys::Thread& thread);
  /// The thread ends soon.
  void stop();
  /// The commands' processes, once the thread has ended.
  transport::RunningCommands& processes() { return processes_; }

 private:
  void run();
  AgentStarter::Request request() const;
  PortRange allowed_ports() const;
  void send_contact();
  bool wait();
  void hear(SealedSocket& socket, const std::string& address, const SealedRecord& record);
  void check_start_failures();
  void look_at_end();
  void hear_errors(const std::string& host, std::string_view bytes);
  void fail_host(Awaited& host, transport::Disconnect why);
  void fail_all(const Error& error, transport::Disconnect::Retry retry);
  void fail_all(const transport::Disconnect& why);
  bool all_done() const;

  const Settings settings_;
  const std::string nonce_;
  std::vector<Awaited> hosts_;
  const std::unique_ptr<AgentStarter> starter_;
  transport::RunningCommands processes_;
  std::optional<PendingConnections> pending_;
  std::string key_;
  transport::ReasonLines said_;
  bool told_end_ = false;
  sys::Fd stop_;
  sys::Fd stopped_;
};

}  // namespace dlaunch::dialback
