// A table from what is known of each host, and from a plan. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "ranktable/rules.h"

namespace dlaunch::ranktable {

/// What a table says of one host; what is read there, or given by the user.
struct HostFacts {
  std::string server_id = {};      ///< an address of the host that the other hosts reach; a name will do for HCCL
  std::string host_ip = {};        ///< empty: not said
  std::vector<long> devices = {};  ///< physical ids in the order of their ranks
  std::map<long, std::string> device_ips = {};  ///< by physical id; more than `devices` do no harm
  std::string super_pod_id = {};                ///< 1.2; empty: no super pod
  std::map<long, long> super_device_ids = {};   ///< 1.2; by physical id
  std::optional<Json> root_info = {};           ///< 2.0: the host's /etc/hccl_rootinfo.json, with `rank_list`
};

/// The hosts in the order of server_id, ranks in the order of their devices. An Error names the first rule that the
/// table would break.
Result<Json> make_table(Version version, Product product, std::vector<HostFacts> hosts);

/// For the ranks of a plan, as the plan numbers them; facts[i] is of plan.hosts[i], whose `devices` do not matter here.
/// Refuses a rank without a device of its own.
Result<Json> make_table(Version version, Product product, const plan::Plan& plan, const std::vector<HostFacts>& facts);

/// "hccl_8p_01234567_10.0.0.1.json": hccl_tools.py's name for one server. `numbers` are those of --device_num.
std::string file_name(const std::vector<long>& numbers, const std::string& server_id);

/// "hccl_2s_16p.json": merge_hccl.py's name for several.
std::string file_name(size_t servers, size_t ranks);

}  // namespace dlaunch::ranktable
