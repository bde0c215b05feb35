// The hosts of a job of DeepSpeed's with the devices that it uses there: its hostfile, --include and --exclude. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::cli {

struct DeepspeedNode {
  std::string name;
  std::vector<int> devices = {};  ///< ascending
};

using DeepspeedNodes = std::vector<DeepspeedNode>;

/// A file of cli/slots_file.h; N slots are devices 0 to N-1.
Result<DeepspeedNodes> parse_deepspeed_hostfile(std::string_view text, const std::string& path);

/// NAME[:DEVICE,...][@...]. No devices: all of the host.
Result<DeepspeedNodes> parse_node_list(std::string_view text);

/// Those of `nodes` that are named, in their own order.
Result<DeepspeedNodes> include_nodes(const DeepspeedNodes& nodes, const DeepspeedNodes& named);
/// `nodes` without what is named.
Result<DeepspeedNodes> exclude_nodes(const DeepspeedNodes& nodes, const DeepspeedNodes& named);

/// 0 to count-1.
std::vector<int> first_devices(int count);

/// Cuts a list of CPUs in as many parts of the same size, as --cpu-list has them: "0-4" in 2 is "p0-1/p2-3". None: it
/// is no list, or too short.
std::optional<std::string> equal_parts(std::string_view cpus, size_t parts);

/// "0-3,6"
std::string device_list(const std::vector<int>& devices);

}  // namespace dlaunch::cli
