#include "sys/installed.h"

#include <unistd.h>

#include <algorithm>
#include <climits>

#include "base/text.h"

namespace dlaunch::sys {

std::string installed_program(const std::string& name) {
  std::string self(PATH_MAX, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", self.data(), self.size());
  if (size <= 0) return {};
  self.resize(static_cast<size_t>(size));
  const std::string directory = self.substr(0, self.rfind('/'));
  for (const char* place : {"/", "/" DLAUNCH_LIBEXEC_FROM_BIN "/dlaunch/"}) {
    std::string path = directory + place + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

bool is_in_path(const std::string& name, const std::string& path) {
  return std::ranges::any_of(split(path, ':'), [&](const std::string& directory) {
    return ::access((directory + '/' + name).c_str(), X_OK) == 0;
  });
}

}  // namespace dlaunch::sys
