#include "ranktable/server_id.h"

#include <algorithm>

#include "ranktable/address.h"

namespace dlaunch::ranktable {
namespace {

/// Networks that other hosts are not on: HCCL passes docker's over as well.
bool is_inner(const std::string& interface) {
  return interface.starts_with("docker") || interface.starts_with("veth") || interface.starts_with("br-") ||
         interface.starts_with("virbr");
}

bool reaches_out(const std::string& text) {
  const auto address = parse_address(text);
  return address && !address->loopback() && !address->unspecified();
}

}  // namespace

std::vector<OwnAddress> parse_interfaces(const std::vector<std::string>& interfaces) {
  std::vector<OwnAddress> own;
  for (const std::string& text : interfaces) {
    const size_t blank = text.rfind(' ');
    if (blank != std::string::npos) own.push_back({text.substr(0, blank), text.substr(blank + 1)});
  }
  return own;
}

std::vector<OwnAddress> outer_addresses(const std::vector<OwnAddress>& own) {
  std::vector<OwnAddress> outer;
  std::ranges::copy_if(own, std::back_inserter(outer),
                       [](const OwnAddress& each) { return !is_inner(each.interface) && reaches_out(each.address); });
  std::ranges::stable_sort(outer, {}, [](const OwnAddress& each) { return parse_address(each.address)->v6; });
  return outer;
}

std::optional<std::string> server_id_of(const HostAddresses& host, bool alone) {
  if (reaches_out(host.name)) return host.name;
  std::vector<std::string> resolved = host.resolved;
  std::erase_if(resolved, [](const std::string& address) { return !reaches_out(address); });
  const auto has = [&](const std::string& address) {
    return std::ranges::find(host.own, address, &OwnAddress::address) != host.own.end();
  };
  if (const auto both = std::ranges::find_if(resolved, has); both != resolved.end()) return *both;
  if (!resolved.empty()) return resolved.front();
  if (const auto outer = outer_addresses(host.own); !outer.empty()) return outer.front().address;
  if (alone) return "127.0.0.1";
  return std::nullopt;
}

}  // namespace dlaunch::ranktable
