#include "transport/ssh/resolve.h"

#include <poll.h>

#include <string>
#include <utility>

namespace dlaunch::transport::ssh {
namespace {

Disconnect failed(const Target& target, const std::string& why) {
  return {.what = "cannot resolve " + (target.renamed ? target.name : "its name"),
          .why = why,
          .hint = "check how it is spelled, and what `getent hosts " + target.name + "` says",
          .retry = Disconnect::Retry::when_up};
}

int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return left.count() < 0 ? 0 : static_cast<int>(left.count());
}

}  // namespace

tl::expected<sys::Addresses, Disconnect> resolve(const Target& target, std::chrono::steady_clock::time_point deadline,
                                                 int ended) {
  sys::Name name{.name = target.name, .port = target.port};
  name.family = target.family == AddressFamily::inet    ? AF_INET
                : target.family == AddressFamily::inet6 ? AF_INET6
                                                        : AF_UNSPEC;
  sys::LookedUp found = sys::look_up_numeric(name);
  if (found.error == EAI_NONAME) {
    name.flags = AI_ADDRCONFIG;
    sys::Lookup lookup(name);
    pollfd waits[] = {{lookup.answered().get(), POLLIN, 0}, {ended, POLLIN, 0}};
    if (!lookup.is_answered()) ::poll(waits, 2, milliseconds_until(deadline));
    if (!lookup.is_answered()) return tl::unexpected(failed(target, "no answer came in time"));
    found = lookup.take();
  }
  if (found.error != 0) return tl::unexpected(failed(target, found.why));
  return std::move(found.addresses);
}

}  // namespace dlaunch::transport::ssh
