// How a resource manager starts agents that connect to the launcher: from their start until each agent has connected.
// An interface for AgentGroup (dialback/agent_group.h), with two methods: by stdin and stdout of one command, or by
// files on a disk that the nodes share. Passive: the owner polls, and ends the processes.
#pragma once

#include <poll.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "dlaunch/job_options.h"
#include "transport/command.h"
#include "transport/transport.h"

namespace dlaunch::dialback {

class AgentStarter {
 public:
  struct Request {
    DialIn how;
    std::vector<plan::Host> hosts;
    std::string nonce;
    std::vector<std::string> names() const;
  };
  /// Receives the stderr of a command. The host name is empty if the text is about all hosts.
  using OnErrors = std::function<void(const std::string& host, std::string_view bytes)>;

  AgentStarter() = default;
  AgentStarter(const AgentStarter&) = delete;
  AgentStarter& operator=(const AgentStarter&) = delete;
  virtual ~AgentStarter() = default;

  /// First step, before the address of the launcher is known. Appends commands to `processes`.
  virtual Result<void> begin(transport::RunningCommands& processes) = 0;
  /// Sends the contact (dialback/job_key.h) to the agents; call once, after begin().
  virtual Result<void> send_contact(const std::string& line, transport::RunningCommands& processes) = 0;
  /// The deadline for all connections; Time::max() while unknown.
  virtual Time connect_by() const = 0;

  virtual void watch(std::vector<pollfd>& polled) const = 0;
  /// `polled`: the first entry appended by watch().
  virtual void turn(const pollfd* polled, Time now) = 0;
  /// Why this host's agent cannot connect; nullopt: the agent may still connect. An empty text: the reason is the
  /// output of the host's command.
  virtual std::optional<transport::Disconnect> start_failure(const std::string& host) = 0;
  /// True if the process that started the agents has ended, together with the agents.
  virtual bool ended() const = 0;
  /// Call after each host has connected or failed.
  virtual void settled() {}
  virtual void close() = 0;
};

std::unique_ptr<AgentStarter> make_starter(AgentStarter::Request request, AgentStarter::OnErrors on_errors);

}  // namespace dlaunch::dialback
