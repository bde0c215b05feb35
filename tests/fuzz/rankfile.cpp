// Reads any text as a rankfile, and its slots as CPUs of a machine with eight CPUs. The CPUs must exist on the machine
// and be in order; otherwise the result must be an Error with a line number.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hosts/rankfile.h"
#include "plan/slot_list.h"

namespace {

using namespace dlaunch;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_slots(std::string_view slots) {
  const auto ranges = plan::parse_slot_list(slots);
  if (!ranges) return require(!ranges.error().what.empty() || !ranges.error().why.empty());
  require(!ranges->empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_slots(text);
  const auto places = hosts::parse_rankfile(text, "f");
  if (!places) {
    require(places.error().exit_code == kExitRefused && !places.error().where.empty() && !places.error().what.empty());
    return 0;
  }
  require(!places->empty());
  for (const plan::RankPlace& place : *places) {
    if (!place.slots.empty()) check_slots(place.slots);
  }
  return 0;
}
