// Reads any text as a host file and as a rankfile. The result must be entries that keep the contract of their headers,
// or an Error with a line number. The entries of a host file must become an allocation or an Error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dlaunch/hostfile.h"
#include "hosts/host_name.h"
#include "hosts/named.h"
#include "hosts/rankfile.h"

namespace {

using namespace dlaunch;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_entry(const hosts::HostEntry& entry) {
  require(hosts::check_host_name(entry.name).has_value());
  require(entry.reach.user.empty() || hosts::check_user(entry.reach.user).has_value());
  require(!entry.slots || (*entry.slots >= 0 && *entry.slots <= hosts::kMostSlots));
  require(!entry.max_slots || entry.slots.value_or(0) <= *entry.max_slots);
  require(!entry.reach.port || (*entry.reach.port > 0 && *entry.reach.port < 65536));
  require(!entry.reach.jump.starts_with('-'));
  require(entry.wdir.empty() || entry.wdir.front() == '/');
  require(entry.from.starts_with("f:"));
}

template <class T>
void check_error(const Result<T>& result) {
  require(result.error().exit_code == kExitRefused && !result.error().what.empty() && !result.error().where.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto places = hosts::parse_rankfile(text, "f")) {
    require(!places->empty());
  } else {
    check_error(places);
  }
  const auto entries = hosts::parse_hostfile(text, "f");
  if (!entries) {
    check_error(entries);
    return 0;
  }
  require(!entries->empty());
  for (const hosts::HostEntry& entry : *entries) check_entry(entry);
  const auto allocation = hosts::allocation_of({*entries, hosts::Repeated::one_slot_each}, plan::Host{},
                                               [](const std::string& name) { return name == "localhost"; });
  if (!allocation) {
    check_error(allocation);
    return 0;
  }
  require(allocation->sequence.size() == entries->size() && allocation->hosts.size() <= entries->size());
  return 0;
}
