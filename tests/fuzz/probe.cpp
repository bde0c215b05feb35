// Reads any bytes as an executable. The probe must return a result and read no byte after the end of the file.
#include <cstdint>
#include <string_view>

#include "pmi/probe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  (void)dlaunch::pmi::family_of({reinterpret_cast<const char*>(data), size});
  return 0;
}
