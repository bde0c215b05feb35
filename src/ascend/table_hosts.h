// Queries the hosts' agents for the rank table's data: the addresses of the devices and of the host.
#pragma once

#include <string>
#include <vector>

#include "ascend/tables/hccn.h"
#include "ascend/tables/make.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "session/host_session.h"

namespace dlaunch::ascend {

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
