#include "allocate/directory.h"

#include <dirent.h>

#include <algorithm>
#include <memory>

namespace dlaunch::allocate {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

}  // namespace

std::vector<std::string> entries_of(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir(path.c_str()));  // it sets O_CLOEXEC
  if (!directory) return names;
  while (const dirent* entry = readdir(directory.get())) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace dlaunch::allocate
