#include "cli/pmix_program.h"

#include <unistd.h>

#include <climits>

namespace dlaunch::cli {

std::string pmix_program() {
  std::string self(PATH_MAX, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", self.data(), self.size());
  if (size <= 0) return {};
  self.resize(static_cast<size_t>(size));
  const std::string directory = self.substr(0, self.rfind('/'));
  for (const char* place : {"/dlaunch-pmix", "/" DLAUNCH_LIBEXEC_FROM_BIN "/dlaunch/dlaunch-pmix"}) {
    const std::string path = directory + place;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

}  // namespace dlaunch::cli
