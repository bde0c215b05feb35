#include "agent/identity.h"

#include <unistd.h>

#include <climits>

#include "base/environment.h"
#include "base/job_env_tags.h"
#include "base/text.h"
#include "hosts/fake_hosts.h"
#include "sys/files.h"

namespace dlaunch::agent {
namespace {

/// This host's name if it is a fake host of --fake-hosts; else empty.
std::string fake_host() { return variable(own_environment(), hosts::kFakeHostVariable).value_or(""); }

}  // namespace

std::string host_identity() {
  const auto boot = sys::read_file("/proc/sys/kernel/random/boot_id");
  if (!boot) return {};
  std::string identity(trim(*boot));
  for (const char* const name : {"/proc/self/ns/net", "/proc/self/ns/uts", "/proc/self/ns/pid"}) {
    char target[PATH_MAX];
    const ssize_t size = ::readlink(name, target, sizeof target);
    if (size > 0) identity.append(" ").append(target, static_cast<size_t>(size));
  }
  if (const std::string fake = fake_host(); !fake.empty()) identity.append(" ").append(fake);
  return identity;
}

std::vector<std::string> marks_of_ranks(const std::string& job_id) {
  std::vector<std::string> marks = {rank_mark(job_id)};
  if (const std::string fake = fake_host(); !fake.empty()) {
    marks.push_back(std::string(hosts::kFakeHostVariable) + '=' + fake);
  }
  return marks;
}

}  // namespace dlaunch::agent
