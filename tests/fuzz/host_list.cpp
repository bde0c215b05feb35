// Reads any text as -H, and as --include and --exclude of an allocation. The result must keep the contract of the
// headers, or be an Error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "allocate/device_filter.h"
#include "allocate/host_name.h"
#include "allocate/named.h"
#include "dlaunch/hostfile.h"

namespace {

using namespace dlaunch;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_filter(allocate::Filter filter, std::string_view text) {
  plan::Allocation allocation;
  for (const char* name : {"a", "n1", "n2", "::1"}) {
    plan::Host host;
    host.name = name;
    host.devices = {0, 1, 2, 3};
    allocation.hosts.push_back(host);
    allocation.sequence.push_back(static_cast<int>(allocation.sequence.size()));
  }
  allocation.hosts.back().local = true;
  const auto means_here = [](const std::string& name) { return name == "localhost"; };
  if (const auto ok = allocate::filter_devices(allocation, filter, text, means_here); !ok) {
    require(!ok.error().what.empty());
    return;
  }
  require(!allocation.hosts.empty() && allocation.sequence.size() == allocation.hosts.size());
  for (const plan::Host& host : allocation.hosts) require(!host.devices.empty() && host.devices.size() <= 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_filter(allocate::Filter::include, text);
  check_filter(allocate::Filter::exclude, text);
  const auto entries = allocate::parse_host_list(text);
  if (!entries) {
    require(entries.error().exit_code == kExitRefused && !entries.error().what.empty());
    return 0;
  }
  require(!entries->empty() && entries->size() <= allocate::kMostHosts);
  for (const allocate::HostEntry& entry : *entries) {
    require(allocate::check_host_name(entry.name).has_value());
    require(entry.slots.has_value() != entry.slots_automatic);
  }
  return 0;
}
