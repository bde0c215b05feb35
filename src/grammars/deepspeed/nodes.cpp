#include "grammars/deepspeed/nodes.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/text.h"
#include "base/try.h"
#include "grammars/slots_file.h"

namespace dlaunch::cli {
namespace {

constexpr int kMostCpu = (1 << 16) - 1;

using std::string_view;

constexpr int kLastDevice = 4095;

tl::unexpected<Error> refuse(std::string what, std::string hint) {
  return fail({.where = "", .what = std::move(what), .why = "", .hint = std::move(hint)});
}

const DeepspeedNode* find_node(const DeepspeedNodes& nodes, const std::string& name) {
  const auto found = std::ranges::find(nodes, name, &DeepspeedNode::name);
  return found == nodes.end() ? nullptr : &*found;
}

Result<void> check_named(const DeepspeedNodes& nodes, const DeepspeedNodes& named) {
  for (const DeepspeedNode& each : named) {
    const DeepspeedNode* node = find_node(nodes, each.name);
    if (!node) return refuse("unknown host \"" + each.name + "\"", "use a host of the hostfile");
    for (const int device : each.devices) {
      if (std::ranges::find(node->devices, device) != node->devices.end()) continue;
      return refuse("unknown device \"" + std::to_string(device) + "\" of host " + each.name,
                    "use devices of " + device_list(node->devices));
    }
  }
  return {};
}

Result<DeepspeedNodes> at_least_one(DeepspeedNodes nodes) {
  std::erase_if(nodes, [](const DeepspeedNode& node) { return node.devices.empty(); });
  if (!nodes.empty()) return nodes;
  return refuse("all devices are excluded", "remove hosts or devices from the list");
}

}  // namespace

Result<DeepspeedNodes> parse_deepspeed_hostfile(string_view text, const std::string& path) {
  const auto hosts = TRY(parse_slots_file(text, path));
  DeepspeedNodes nodes;
  for (const HostSlots& host : hosts) nodes.push_back({host.name, first_devices(host.slots)});
  return nodes;
}

Result<DeepspeedNodes> parse_node_list(string_view text) {
  DeepspeedNodes nodes;
  for (const std::string& item : split(text, '@')) {
    const size_t colon = std::min(item.find(':'), item.size());
    const std::string name = item.substr(0, colon);
    auto found = std::ranges::find(nodes, name, &DeepspeedNode::name);
    if (found == nodes.end()) found = nodes.insert(found, {name});
    if (colon == item.size()) continue;
    for (const std::string& part : split(string_view(item).substr(colon + 1), ',')) {
      const auto device = parse_int(trim(part), 0, kLastDevice);
      if (!device) return refuse("invalid device list \"" + item + "\": expected HOST:0,2@HOST2", "");
      found->devices.push_back(static_cast<int>(*device));
    }
    std::ranges::sort(found->devices);
    const auto repeated = std::ranges::unique(found->devices);
    found->devices.erase(repeated.begin(), repeated.end());
  }
  return nodes;
}

Result<DeepspeedNodes> include_nodes(const DeepspeedNodes& nodes, const DeepspeedNodes& named) {
  TRY(check_named(nodes, named));
  DeepspeedNodes left;
  for (const DeepspeedNode& node : nodes) {
    const DeepspeedNode* chosen = find_node(named, node.name);
    if (chosen) left.push_back(chosen->devices.empty() ? node : *chosen);
  }
  return at_least_one(std::move(left));
}

Result<DeepspeedNodes> exclude_nodes(const DeepspeedNodes& nodes, const DeepspeedNodes& named) {
  TRY(check_named(nodes, named));
  DeepspeedNodes left = nodes;
  for (DeepspeedNode& node : left) {
    const DeepspeedNode* out = find_node(named, node.name);
    if (!out) continue;
    std::erase_if(node.devices, [&](int device) {
      return out->devices.empty() || std::ranges::find(out->devices, device) != out->devices.end();
    });
  }
  return at_least_one(std::move(left));
}

std::vector<int> first_devices(int count) {
  std::vector<int> devices(static_cast<size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

std::optional<std::string> equal_parts(std::string_view cpus, size_t parts) {
  const auto list = parse_int_list(cpus, kMostCpu);
  const size_t each = list ? list->size() / parts : 0;
  if (each == 0) return std::nullopt;
  const std::vector<int> all(list->begin(), list->end());
  std::string text;
  for (size_t part = 0; part < parts; ++part) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(part * each);
    text += (part == 0 ? "p" : "/p") + fold_ints({first, first + static_cast<std::ptrdiff_t>(each)});
  }
  return text;
}

std::string device_list(const std::vector<int>& devices) {
  return fold_ints(std::set<int>(devices.begin(), devices.end()));
}

}  // namespace dlaunch::cli
