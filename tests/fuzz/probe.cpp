// Reads any bytes as an executable. There must be an answer, and no byte beyond the file may be read for it.
#include <cstdint>
#include <string_view>

#include "pmi/probe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  (void)dlaunch::pmi::family_of({reinterpret_cast<const char*>(data), size});
  return 0;
}
