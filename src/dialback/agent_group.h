// Starts agents on some hosts with a resource manager's command and waits until each agent has connected. Contains the
// starter, the listening socket, and a key only for these agents. All agents have this key, and each states the name of
// its host. If two agents state one name, all hosts of the start are lost: the right agent is unknown. Runs its own
// thread. While the command runs, the thread also watches the reasons reported by the manager.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dialback/agent_starter.h"
#include "dialback/pending_connections.h"
#include "dialback/pump.h"
#include "dialback/statement.h"
#include "dlaunch/job_options.h"
#include "sys/thread.h"
#include "transport/command.h"
#include "transport/reason_lines.h"

namespace dlaunch::dialback {

class AgentGroup {
 public:
  struct Awaited {
    plan::Host host;
    std::shared_ptr<NodeConnection> connection;
    bool done = false;  ///< connected, or failed
    bool in = false;
    std::string address = {};  ///< of the connected agent
  };
  struct Settings {
    DialIn how;
    Welcome welcome;
    Messages messages;  ///< called in the AgentGroup's own thread
    std::shared_ptr<Pump> pump;
  };

  AgentGroup(Settings settings, std::vector<Awaited> hosts);
  ~AgentGroup();

  /// Throws std::system_error if the thread cannot be created.
  static void begin(const std::shared_ptr<AgentGroup>& group, sys::Thread& thread);
  /// Makes the thread end soon.
  void stop();
  /// The processes of the commands; call after the thread has ended.
  transport::RunningCommands& processes() { return processes_; }

 private:
  void run();
  AgentStarter::Request request() const;
  PortRange allowed_ports() const;
  void send_contact();
  bool wait();
  void admit(SealedSocket& socket, const std::string& address, const SealedRecord& record);
  void check_start_failures();
  void check_replaced();
  void end_impersonated(const Awaited& host, const std::string& other);
  std::string agent_at(const std::string& address, const Awaited& but) const;
  void check_end();
  void take_errors(const std::string& host, std::string_view bytes);
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
  transport::ReasonLines reason_lines_;
  bool end_handled_ = false;
  bool impersonated_ = false;
  sys::Fd stop_;
  sys::Fd stopped_;
};

/// Connects to hosts through agents that a resource manager's command starts and that connect to the launcher. One
/// command starts the agents of a series of open() calls; if the command has {step}, one command for each Reach::step.
/// After a failure or the end of a link, the next open() for the host uses the other transport.
class ManagerTransport : public transport::Transport {
 public:
  /// `messages` may be called from other threads. If `again` is null, the manager's command is used for each attempt.
  ManagerTransport(DialIn how, Welcome welcome, Messages messages, std::unique_ptr<transport::Transport> again);
  ~ManagerTransport() override;

  Result<transport::Connection> open(const plan::Host& host) override;
  void open_together() override;
  void close() override;

 private:
  const DialIn how_;
  const Welcome welcome_;
  const Messages messages_;
  const std::unique_ptr<transport::Transport> again_;
  PumpThread pump_;
  struct Running {
    std::shared_ptr<AgentGroup> group;
    sys::Thread thread;
  };
  std::vector<Running> running_;
  std::vector<AgentGroup::Awaited> asked_;  // until open_together()
  std::set<std::string> known_;             // names of the hosts passed to open()
};

}  // namespace dlaunch::dialback
