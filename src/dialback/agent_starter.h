// How a resource manager starts agents that connect to us, from what they need to be there until each has come: what
// dialback/agent_group.h asks of each way. Passive: its owner polls, and ends the processes.
#pragma once

#include <poll.h>

#include <chrono>
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
#include "sys/fd.h"
#include "transport/running_commands.h"
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
  /// What a command wrote to its stderr, of this host; of all when the name is empty.
  using Heard = std::function<void(const std::string& host, std::string_view bytes)>;

  AgentStarter() = default;
  AgentStarter(const AgentStarter&) = delete;
  AgentStarter& operator=(const AgentStarter&) = delete;
  virtual ~AgentStarter() = default;

  /// What can be done before it is known where we listen. Commands are added to `processes`.
  virtual Result<void> begin(transport::RunningCommands& processes) = 0;
  /// Tells the agents (dialback/contact.h); once, after begin().
  virtual Result<void> send_contact(const std::string& line, transport::RunningCommands& processes) = 0;
  /// When each has come, or will not; Time::max() as long as that cannot be told.
  virtual Time come_by() const = 0;

  virtual void watch(std::vector<pollfd>& polled) const = 0;
  /// `polled`: the first of those that watch() appended.
  virtual void turn(const pollfd* polled, Time now) = 0;
  /// Why this host's agent will not come; none: it may yet. Empty words: what its command said is the reason.
  virtual std::optional<transport::Disconnect> start_failure(const std::string& host) = 0;
  /// What started the agents has ended, and they with it.
  virtual bool ended() const = 0;
  /// Every host has come, or will not.
  virtual void settled() {}
  virtual void close() = 0;
};

/// A manager's command that runs, with non-blocking ends of its stdin and stdout, and of its stderr.
struct StartedCommand {
  sys::Fd stream;
  sys::Fd errors;
};

/// Runs a /bin/sh line after `before` (transport/command.h), which `processes` shows for `hosts`.
Result<StartedCommand> start_command(const std::string& line, const std::string& before, const std::string& hosts,
                                     transport::RunningCommands& processes);

std::unique_ptr<AgentStarter> make_starter(AgentStarter::Request request, AgentStarter::Heard heard);

}  // namespace dlaunch::dialback
