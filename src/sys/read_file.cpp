#include "sys/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace dlaunch::sys {

std::optional<std::string> read_file(const std::string& path, std::size_t limit) {
  return read_file(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), limit);
}

std::optional<std::string> read_file(const Fd& file, std::size_t limit) {
  if (!file) return std::nullopt;
  std::string text;
  struct stat facts{};
  if (::fstat(file.get(), &facts) == 0) text.reserve(std::min(limit, static_cast<std::size_t>(facts.st_size)));
  std::array<char, 4096> buffer;
  while (text.size() < limit) {
    const ssize_t got = ::read(file.get(), buffer.data(), std::min(buffer.size(), limit - text.size()));
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace dlaunch::sys
