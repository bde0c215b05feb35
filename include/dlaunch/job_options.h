// How a planned job is run: every option that does not change the plan. A value.
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

/// How a resource manager starts agents that connect to the launcher by themselves.
struct DialIn {
  /// A /bin/sh command; the words of the task are appended. With {hosts} (names, joined by commas) or {steps} it is run
  /// once for all hosts, {count} is their number; with {host} (or {step}) once for each. With `files_in` it is {hosts}
  /// that tells the two apart.
  std::string command;
  std::vector<std::string> unset = {};  ///< variables that the command does not get
  PortRange ports = {};                 ///< which may be listened on; any: as ports_command says
  std::string own_name;                 ///< a shell word that expands to the host's name there: "$SLURMD_NODENAME"
  std::string ports_command = {};       ///< prints a line "SrunPortRange = FIRST-LAST"; empty: any port will do
  /// slurm.conf; where it sets no SrunPortRange and includes no other file, ports_command is not run. Empty: it is
  /// run.
  std::string ports_file = {};
  /// Where neither stdin nor stdout of the command reaches them: a directory that the hosts share, in which what they
  /// need lies for the time of the start.
  std::optional<std::string> files_in = {};
};

struct JobOptions {
  job::Policy policy = {};
  output::OutputSettings output = {};  ///< the console and the files
  bool console = false;                ///< the ranks' output is shown on this process's descriptors 1 and 2
  bool lines = true;                   ///< Listener::line is told each line of the ranks
  /// --progress: the progress that a line of a rank tells, if any (the beginning of one that is longer than 4 KiB;
  /// lines end at a carriage return, too). Empty: lines are not looked at.
  std::function<std::optional<std::int64_t>(std::string_view line)> progress = {};
  /// --progress-lag: a rank that is so many steps behind the median is told of; 0: none is; none: by what is usual.
  std::optional<std::int64_t> progress_lag = {};
  /// --stacks-on: at this signal what all ranks do is printed, and the job goes on; 0: at none.
  int stacks_on = 0;
  plan::StdinTarget stdin_target{plan::StdinTarget::Kind::none};  ///< which ranks get descriptor 0 as stdin
  std::string report_file = {};  ///< --report, the job's record (record.h); absolute; empty: none

  /// --error-file, a template: where ranks of this machine may write why they failed, and where a later round's do.
  std::string error_file = {};

  // How hosts are reached.
  std::string exec = {};          ///< --exec: the command line that reaches other hosts; empty: ssh
  bool exec_is_signalled = true;  ///< such a command that does not end by itself is ended
  /// Other hosts are reached so at first, and by `exec` where that does not succeed; empty: not.
  std::optional<DialIn> dial_in = {};
  std::optional<plan::HostKey> host_key = {};  ///< empty: what the ssh configuration says, else strict
  std::chrono::milliseconds wait_hosts{0};     ///< how long hosts that are not up are tried again
  int hosts_at_once = 64;  ///< hosts connected to at a time: sshd, name servers and our own descriptors have limits
  /// The interval at which both sides send a heartbeat; three missed ones end the link.
  std::chrono::milliseconds heartbeat{5000};
  /// The limit for a shell on a host to become an agent; while the agent's bytes are sent, from one piece to the next.
  std::chrono::milliseconds ready_wait{30000};

  // What is put into directories that ranks have of their own (Request::rank_dir).
  std::vector<std::string> stage = {};  ///< absolute names, or patterns, of files and directories on this machine
  std::shared_ptr<const std::string> staged =
      {};                 ///< those files as an archive, once read; run() reads them when this is empty
  bool save_env = false;  ///< each rank's environment goes to env.log in its directory

  /// The path of dlaunch-pmix, which serves Open MPI's programs, on this machine. Empty: it is looked for beside this
  /// program, and where the dlaunch beside it would look.
  std::string pmix_program = {};
};

}  // namespace dlaunch
