#include "sys/directory.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

namespace dlaunch::sys {

int for_each_entry(const std::string& path, const std::function<bool(const dirent&)>& visit) {
  return for_each_entry(Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC)), visit);
}

int for_each_entry(Fd directory, const std::function<bool(const dirent&)>& visit) {
  if (!directory) return errno;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(directory.get()), ::closedir);
  if (!entries) return errno;
  directory.release();  // closedir closes it
  errno = 0;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !visit(*entry)) return 0;
    errno = 0;
  }
  return errno;
}

std::vector<std::string> entries_of(const std::string& path) {
  std::vector<std::string> names;
  for_each_entry(path, [&](const dirent& entry) {
    if (entry.d_name[0] != '.') names.emplace_back(entry.d_name);
    return true;
  });
  std::ranges::sort(names);
  return names;
}

}  // namespace dlaunch::sys
