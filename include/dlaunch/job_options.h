// How a planned job is run: all that does not change the plan. A value.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/output.h"
#include "dlaunch/policy.h"
#include "dlaunch/request.h"

namespace dlaunch {

struct JobOptions {
  job::Policy policy = {};
  output::OutputSettings output = {};  ///< the console and the files
  bool console = false;                ///< the ranks' output is shown on this process's descriptors 1 and 2
  bool lines = true;                   ///< Listener::line is told each line of the ranks
  plan::StdinTarget stdin_target{plan::StdinTarget::Kind::none};  ///< whose stdin descriptor 0 is; read for nobody else
  std::string report_file = {};  ///< --report, the job's record (record.h); absolute; empty: none

  // How hosts are reached.
  std::string exec = {};                       ///< --exec: the command line that reaches other hosts; empty: ssh
  std::optional<plan::HostKey> host_key = {};  ///< empty: as the ssh configuration says, else strict
  std::chrono::milliseconds wait_hosts{0};     ///< so long hosts that are not up are tried again
  int hosts_at_once = 64;  ///< being reached; sshd, name servers and our own file descriptors have limits
  /// Both sides say that they live this often; three misses end the link.
  std::chrono::milliseconds heartbeat{5000};
  /// For a shell on a host to become an agent; while the agent's bytes go there, from one piece to the next.
  std::chrono::milliseconds ready_wait{30000};

  // What ranks that have directories of their own (Request::rank_dir) find there.
  std::vector<std::string> stage = {};  ///< absolute names, or patterns, of files and directories here
  std::shared_ptr<const std::string> staged =
      {};                 ///< those as an archive, once they were read; run() reads them if need be
  bool save_env = false;  ///< each rank's environment goes to env.log in its directory

  /// Where dlaunch-pmix is on this machine, which serves Open MPI's programs; empty: beside this program, or where the
  /// dlaunch beside it has it.
  std::string pmix_program = {};
};

}  // namespace dlaunch
