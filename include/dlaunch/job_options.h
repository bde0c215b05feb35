// The options of a job that do not change its plan. A value.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/output.h"
#include "dlaunch/policy.h"
#include "dlaunch/port_range.h"
#include "dlaunch/request.h"

namespace dlaunch {

/// A resource manager's command that starts agents; the agents connect to the launcher.
struct DialIn {
  /// A /bin/sh command, to which the words of the task are appended. A command with {hosts} (names, joined by commas)
  /// or {steps} runs once for all hosts; {count} is their number. A command with {host} (or {step}) runs once per host.
  /// With `files_in`, only {hosts} decides.
  std::string command;
  std::vector<std::string> unset = {};  ///< variables that are removed from the environment of the command
  PortRange ports = {};                 ///< ports for the listening socket; any: ask ports_command
  std::string own_name;                 ///< a shell word that expands to the name on the host: "$SLURMD_NODENAME"
  std::string ports_command = {};       ///< prints a line "SrunPortRange = FIRST-LAST"; empty: any port
  /// The path of slurm.conf. ports_command is not run if this file does not set SrunPortRange and does not include
  /// another file. Empty: ports_command is run.
  std::string ports_file = {};
  /// For a command without stdin and stdout of the hosts: a directory shared by the hosts, which keeps the files of the
  /// start while the agents start.
  std::optional<std::string> files_in = {};
};

struct JobOptions {
  job::Policy policy = {};
  output::OutputSettings output = {};  ///< the console and the files
  bool console = false;                ///< the output of ranks is written to descriptors 1 and 2 of this process
  bool lines = true;                   ///< Listener::line receives each line of the ranks
  /// --progress: the progress number in a line of a rank, if any. Lines end at a newline or a carriage return; only the
  /// first 4 KiB of a line are passed. Empty: lines are not searched.
  std::function<std::optional<std::int64_t>(std::string_view line)> progress = {};
  /// --progress-lag: the number of steps behind the median after which a rank is reported. 0: never; empty: chosen from
  /// the steps of the ranks.
  std::optional<std::int64_t> progress_lag = {};
  /// --stacks-on: the signal after which the stacks of all ranks are printed; the job continues. 0: no signal.
  int stacks_on = 0;
  plan::StdinTarget stdin_target{plan::StdinTarget::Kind::none};  ///< the ranks whose stdin is descriptor 0
  /// The names that the user may have meant if the program is not found: dlaunch's subcommands. Empty: no such hint.
  std::vector<std::string> subcommands = {};
  std::string report_file = {};  ///< --report: path of the record (record.h); absolute; empty: no record

  /// --error-file, a template: the file in which a rank of this machine may write the reason of its failure, per round.
  std::string error_file = {};

  // The connections to hosts.
  std::string exec = {};          ///< --exec: the command that connects to another host; empty: ssh
  bool exec_is_signalled = true;  ///< the launcher terminates such a command if it does not exit
  /// Tried first for other hosts; `exec` is used if it fails. Empty: not used.
  std::optional<DialIn> dial_in = {};
  std::optional<plan::HostKey> host_key = {};  ///< empty: as in the ssh configuration, else strict
  std::chrono::milliseconds wait_hosts{0};     ///< time during which unreachable hosts are tried again
  int hosts_at_once = 64;  ///< limit of connection attempts at a time: sshd, name servers and descriptors have limits
  /// The interval of the heartbeats of both sides; three missed heartbeats end the link.
  std::chrono::milliseconds heartbeat{5000};
  /// The time limit for the start of an agent by a shell on a host; during the upload, the limit for one piece.
  std::chrono::milliseconds ready_wait{30000};

  // The contents of the directories of ranks (Request::rank_dir).
  std::vector<std::string> stage = {};  ///< absolute paths or patterns of files and directories on this machine
  std::shared_ptr<const std::string> staged = {};  ///< these files as an archive; empty: run() reads them
  bool save_env = false;                           ///< writes the environment of each rank to env.log in its directory

  /// The path of dlaunch-pmix on this machine; dlaunch-pmix serves the programs of Open MPI. Empty: next to this
  /// program, or at the places where an installed dlaunch searches.
  std::string pmix_program = {};
};

}  // namespace dlaunch
