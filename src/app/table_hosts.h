// Asks hosts' agents for what a rank table says of them: the devices' addresses, and the host's own.
#pragma once

#include <string>
#include <vector>

#include "app/host_session.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "ranktable/hccn.h"
#include "ranktable/make.h"

namespace dlaunch::app {

struct TableQuestion {
  std::vector<plan::Host> hosts = {};           ///< those of the session
  std::vector<std::vector<long>> devices = {};  ///< of each host
  std::string path = {};                        ///< PATH in which hccn_tool is looked up
  std::string hccn_conf = ranktable::kHccnConf;
  std::string root_info = {};  ///< version 2.0: the file to read in place of the addresses
};

/// An Error names every host that lacks something, by reason; lost hosts are reported on stderr.
Result<std::vector<ranktable::HostFacts>> ask_table_hosts(HostSession& session, const TableQuestion& question);

}  // namespace dlaunch::app
