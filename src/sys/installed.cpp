#include "sys/installed.h"

#include <sys/stat.h>
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
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0;
  return std::ranges::any_of(split(path, ':'), [&](const std::string& directory) {
    return ::access((directory + '/' + name).c_str(), X_OK) == 0;
  });
}

std::string other_program(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) return is_in_path(name, path) ? name : "";
  struct stat self{};
  const bool known = ::stat("/proc/self/exe", &self) == 0;
  bool first = true;
  for (const std::string& directory : split(path, ':')) {
    const std::string file = directory + '/' + name;
    struct stat found{};
    if (::access(file.c_str(), X_OK) != 0 || ::stat(file.c_str(), &found) != 0) continue;
    if (!known || found.st_dev != self.st_dev || found.st_ino != self.st_ino) return first ? name : file;
    first = false;
  }
  return {};
}

}  // namespace dlaunch::sys
