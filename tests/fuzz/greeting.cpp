// Reads any bytes as the greeting of a PMIx client. A name must begin with the name of the job and be part of the
// bytes. A longer greeting without a name must be invalid. A complete greeting must stay complete, whatever follows.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pmix/environment.h"

namespace {

using namespace dlaunch;
using Is = pmix::Greeting::Is;

constexpr std::string_view kJob = "dlaunch-0";

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view said(reinterpret_cast<const char*>(data), size);
  const pmix::Greeting greeting = pmix::read_greeting(said, kJob);
  if (greeting.is == Is::whole) {
    require(greeting.world.starts_with(kJob) && greeting.world.find('\0') == std::string_view::npos);
    require(greeting.world.data() >= said.data() && greeting.world.data() + greeting.world.size() < said.data() + size);
    require(pmix::read_greeting(std::string(said) + "more", kJob).world == greeting.world);
  } else {
    require(greeting.world.empty() && (greeting.is == Is::nonsense) == (size > pmix::kMostGreeting));
  }
  return 0;
}
