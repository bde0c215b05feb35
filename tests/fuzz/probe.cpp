// Any bytes as an executable: an answer, and never one from beyond the file.
#include <cstdint>
#include <string_view>

#include "pmi/probe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  (void)dlaunch::pmi::may_use_mpi({reinterpret_cast<const char*>(data), size});
  return 0;
}
