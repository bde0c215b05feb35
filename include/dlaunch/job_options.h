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

/// A command of a resource manager that starts agents. The agents then connect to the launcher.
struct DialIn {
  /// A /bin/sh command. dlaunch appends the words that start an agent. A command with {hosts} (names, joined by commas)
  /// or {steps} runs once for all hosts; {count} is the number of hosts. A command with {hosts} and {step} runs once
  /// per step, for the hosts with this step. Any other command with {host} or {step} runs once per host. With
  /// `files_in`, a command without {hosts} runs once per host.
  std::string command;
  std::vector<std::string> unset = {};  ///< variables that are removed from the environment of the command
  std::vector<std::string> set = {};    ///< NAME=VALUE in the environment of the command
  PortRange ports = {};                 ///< ports for the listening socket; any port: see ports_in
  std::string own_name;                 ///< a word that the shell of a host replaces by the name of the host.
  /// Reads the ports in the text of ports_file. Returns nullopt if the text does not have the ports; dlaunch then reads
  /// the output of ports_command. A null pointer permits any port.
  std::optional<PortRange> (*ports_in)(std::string_view text) = nullptr;
  std::string ports_command = {};
  std::string ports_file = {};  ///< a path; empty: no file
  /// A directory that the hosts share, for a command that does not forward stdin and stdout of the hosts. The directory
  /// has the files that start the agents. Empty: the command forwards stdin and stdout.
  std::optional<std::string> files_in = {};
};

struct JobOptions {
  job::Policy policy = {};
  output::OutputSettings output = {};  ///< the console and the files
  bool console = false;                ///< the output of ranks is written to descriptors 1 and 2 of this process
  bool lines = true;                   ///< Listener::line receives each line of the ranks
  /// --progress: returns the progress number in a line of a rank, or nullopt. Lines end at a newline or a carriage
  /// return. The function gets only the first 4 KiB of a line. Empty: dlaunch does not search lines.
  std::function<std::optional<std::int64_t>(std::string_view line)> progress = {};
  /// --progress-lag: dlaunch reports a rank that is more than this number of steps below the median. 0: never; empty:
  /// dlaunch chooses the number from the steps of the ranks.
  std::optional<std::int64_t> progress_lag = {};
  /// --stacks-on: the signal after which the stacks of all ranks are printed; the job continues. 0: no signal.
  int stacks_on = 0;
  plan::StdinTarget stdin_target{plan::StdinTarget::Kind::none};  ///< the ranks whose stdin is descriptor 0
  /// With output.pty and a terminal as descriptor 0: dlaunch sets this terminal to raw mode while ranks read from it.
  /// The stdin of each rank is the rank's own pty.
  bool keys = false;
  std::optional<char> escape = '~';  ///< --escape: with `keys`, this key after a newline begins a command to dlaunch
  /// dlaunch's subcommands, for the hint "put the subcommand first" if a program is not found. Empty: no such hint.
  std::vector<std::string> subcommands = {};
  std::string report_file = {};  ///< --report: path of the record (record.h); absolute; empty: no record

  std::string junit_file = {};  ///< --junit: path of the results of the ranks in the XML format of JUnit; absolute
  bool results_table = false;   ///< --summary table: prints the result of each rank at the end
  bool github = false;          ///< prints the first failure as an annotation of GitHub Actions

  /// --error-file: a template for file names. In each round, a rank of this machine may write the reason of its failure
  /// into its file.
  std::string error_file = {};

  // The connections to hosts.
  std::string exec = {};          ///< --exec: the command that connects to another host; empty: ssh
  bool exec_is_signalled = true;  ///< the launcher signals a command of `exec` that does not exit by itself
  /// The preferred command for other hosts. dlaunch uses `exec` if this command fails. Empty: dlaunch uses only `exec`.
  std::optional<DialIn> dial_in = {};
  std::optional<plan::HostKey> host_key = {};  ///< empty: as in the ssh configuration, else strict
  std::chrono::milliseconds wait_hosts{0};     ///< --wait-hosts: dlaunch tries unreachable hosts again during this time
  int hosts_at_once = 64;  ///< number of connection attempts at a time: sshd, name servers and descriptors have limits
  /// --heartbeat: the interval of the heartbeats of both sides. A host is lost after three missed heartbeats.
  std::chrono::milliseconds heartbeat{5000};
  /// --pause-limit: the time for which agents wait for a launcher that is stopped or silent (Ctrl-Z, a suspended
  /// machine). The connection must stay open. An agent waits only for four heartbeats if another host may replace its
  /// host, or if dlaunch cannot reconnect to its host (--same-line). After Ctrl-Z, every agent waits for `pause_limit`.
  std::chrono::milliseconds pause_limit{std::chrono::minutes(10)};
  /// The time limit for the start of an agent on a host. During the upload of the agent, each piece has this limit.
  std::chrono::milliseconds ready_wait{30000};

  // The contents of the directories of ranks (Request::rank_dir).
  std::vector<std::string> stage = {};  ///< absolute paths or patterns of files and directories on this machine
  std::shared_ptr<const std::string> staged = {};  ///< the files of `stage` as an archive; empty: run() reads them
  bool save_env = false;                           ///< writes the environment of each rank to env.log in its directory

  /// The path of dlaunch-pmix on this machine; dlaunch-pmix serves the programs of Open MPI. Empty: dlaunch searches
  /// next to this program, then in the directories of an installed dlaunch.
  std::string pmix_program = {};
};

}  // namespace dlaunch
