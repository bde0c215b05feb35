#include "agent/identity.h"

#include <unistd.h>

#include <climits>

#include "base/text.h"
#include "sys/files.h"

namespace dlaunch::agent {

std::string host_identity() {
  const auto boot = sys::read_file("/proc/sys/kernel/random/boot_id");
  if (!boot) return {};
  std::string identity(trim(*boot));
  for (const char* const name : {"/proc/self/ns/net", "/proc/self/ns/uts", "/proc/self/ns/pid"}) {
    char target[PATH_MAX];
    const ssize_t size = ::readlink(name, target, sizeof target);
    if (size > 0) identity.append(" ").append(target, static_cast<size_t>(size));
  }
  return identity;
}

}  // namespace dlaunch::agent
