// fd_list: prints its inherited descriptors in order, one "FD TARGET" per line.
#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

int main() {
  DIR* directory = opendir("/proc/self/fd");
  if (!directory) return 1;
  std::map<int, std::string> open_fds;
  while (const dirent* entry = readdir(directory)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] == '.' || fd == dirfd(directory)) continue;
    char target[4096];
    const ssize_t length = readlinkat(dirfd(directory), entry->d_name, target, sizeof target);
    open_fds[fd] = length < 0 ? "?" : std::string(target, static_cast<size_t>(length));
  }
  for (const auto& [fd, target] : open_fds) std::printf("%d %s\n", fd, target.c_str());
  return 0;
}
