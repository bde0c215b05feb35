#include "allocate/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace dlaunch::allocate {

std::optional<std::string> read_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  while (text.size() < 65536 && (got = read(fd, buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  close(fd);
  return got < 0 ? std::nullopt : std::optional<std::string>(std::move(text));
}

}  // namespace dlaunch::allocate
