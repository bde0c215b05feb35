// Queries the hosts' agents for the rank table's data: the addresses of the devices and of the host.
#pragma once

#include <string>
#include <vector>

#include "ascend/tables/hccn.h"
#include "ascend/tables/make.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "launcher/host_query.h"
#include "session/host_session.h"
#include "wire/message.h"

namespace dlaunch::ascend {

// Converts commands for hosts to the wire format, and their results from the wire format. PURE.

/// Commands are searched in `path`, and then in the install directory of Ascend's driver for hccn_tool.
wire::RunCommands run_commands(const std::string& path, const std::vector<ranktable::Command>& commands);

/// One answer per command in `commands`; a missing answer counts as timed out.
std::vector<ranktable::Answer> answers(const launcher::QueriedHost& host, size_t commands);

struct TableQuestion {
  std::vector<plan::Host> hosts = {};           ///< the session's hosts
  std::vector<std::vector<long>> devices = {};  ///< of each host
  std::string path = {};                        ///< PATH in which hccn_tool is searched
  std::string hccn_conf = ranktable::kHccnConf;
  std::string root_info = {};  ///< version 2.0: the file that replaces the addresses
};

/// An Error lists every host with missing data, by reason; lost hosts are reported on stderr.
Result<std::vector<ranktable::HostFacts>> ask_table_hosts(session::HostSession& session, const TableQuestion& question);

}  // namespace dlaunch::ascend
