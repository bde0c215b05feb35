// Reads any text as -H, and as --include and --exclude of an allocation. The result must keep the contract of the
// headers, or be an Error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dlaunch/hostfile.h"
#include "hosts/device_filter.h"
#include "hosts/host_name.h"
#include "hosts/named.h"

namespace {

using namespace dlaunch;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_filter(hosts::Filter filter, std::string_view text) {
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
  if (const auto ok = hosts::filter_devices(allocation, filter, text, means_here); !ok) {
    require(!ok.error().what.empty());
    return;
  }
  require(!allocation.hosts.empty() && allocation.sequence.size() == allocation.hosts.size());
  for (const plan::Host& host : allocation.hosts) require(!host.devices.empty() && host.devices.size() <= 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_filter(hosts::Filter::include, text);
  check_filter(hosts::Filter::exclude, text);
  const auto entries = hosts::parse_host_list(text);
  if (!entries) {
    require(entries.error().exit_code == kExitRefused && !entries.error().what.empty());
    return 0;
  }
  require(!entries->empty() && entries->size() <= hosts::kMostHosts);
  for (const hosts::HostEntry& entry : *entries) {
    require(hosts::check_host_name(entry.name).has_value());
    require(entry.slots.has_value() != entry.slots_automatic);
  }
  return 0;
}
