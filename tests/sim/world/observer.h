// What happens in a world, for the promises. All times are virtual.
#pragma once

#include <string>
#include <string_view>

#include "wire/message.h"
#include "world/process.h"

namespace sim {

struct Fault;

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void began(const Process& process) { (void)process; }
  virtual void ended(const Process& process) { (void)process; }
  /// A rank called MPI_Abort, and lives on.
  virtual void aborted(const Process& process) { (void)process; }
  /// The agent could not fork a rank.
  virtual void not_forked(int host, int rank) { (void)host, (void)rank; }
  /// A fault acts, or ends.
  virtual void fault(const Fault& fault, bool ends) { (void)fault, (void)ends; }
  /// dlaunch printed lines on stderr.
  virtual void printed(std::string_view lines) { (void)lines; }
  /// The launcher sent a message to an agent.
  virtual void sent(int host, const dlaunch::wire::Message& message) { (void)host, (void)message; }
  /// A message of an agent has arrived at the launcher's machine.
  virtual void heard(int host, const dlaunch::wire::Message& message) { (void)host, (void)message; }
  /// An agent signalled a process that it has reaped: the kernel may have given its number to another process.
  virtual void stray_signal() {}
  /// The launcher got a signal; a stopped launcher sees it later.
  virtual void launcher_signalled(int signal) { (void)signal; }
  /// The launcher does not run until this time.
  virtual void launcher_stopped(Ns until) { (void)until; }
  /// The host's end of a connection is closed first: by an agent, a refused login, or a reset.
  virtual void link_closed(int host) { (void)host; }
};

}  // namespace sim
