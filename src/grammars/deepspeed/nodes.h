// The hosts and devices of a DeepSpeed job: the hostfile, --include and --exclude. PURE.
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

/// Parses a file as grammars/slots_file.h does. N slots are devices 0 to N-1.
Result<DeepspeedNodes> parse_deepspeed_hostfile(std::string_view text, const std::string& path);

/// Parses NAME[:DEVICE,...][@...]. A host without a list has no entries in `devices`: all devices.
Result<DeepspeedNodes> parse_node_list(std::string_view text);

/// The named hosts and devices, in the order of `nodes`.
Result<DeepspeedNodes> include_nodes(const DeepspeedNodes& nodes, const DeepspeedNodes& named);
/// `nodes` without the named hosts and devices.
Result<DeepspeedNodes> exclude_nodes(const DeepspeedNodes& nodes, const DeepspeedNodes& named);

/// 0 to count-1.
std::vector<int> first_devices(int count);

/// Splits a list of CPUs into `parts` equal parts, in the form of --cpu-list: "0-4" in 2 parts is "p0-1/p2-3".
/// nullopt if `cpus` is not a list, or has fewer than `parts` CPUs.
std::optional<std::string> equal_parts(std::string_view cpus, size_t parts);

/// "0-3,6"
std::string device_list(const std::vector<int>& devices);

}  // namespace dlaunch::cli
