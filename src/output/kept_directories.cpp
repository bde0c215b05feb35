#include "output/kept_directories.h"

#include <sys/stat.h>

#include <cerrno>

#include "sys/held_directory.h"

namespace dlaunch::output {
namespace {

/// Whether the entry is a directory and not a link. If not, errno is ENOTDIR, or 0 if the entry does not exist.
bool is_directory(const sys::HeldDirectory& parent, const std::string& name) {
  const auto facts = parent.facts_of(name);
  errno = facts ? ENOTDIR : errno == ENOENT ? 0 : errno;
  return facts && S_ISDIR(facts->st_mode);
}

}  // namespace

std::string keep_directories(const std::string& path, std::uint32_t keep) {
  const auto number = [](const std::string& name, std::uint32_t n) {
    return n == 0 ? name : name + '.' + std::to_string(n);
  };
  const sys::HeldPlace place = sys::HeldPlace::of(path);
  if (!place) return errno == ENOENT ? "" : "keep " + path;
  const auto numbered = [&](std::uint32_t n) { return number(place.name, n); };
  const auto shown = [&](std::uint32_t n) { return number(path, n); };
  if (!is_directory(place.directory, place.name)) return errno == 0 ? "" : "keep " + path;
  std::uint32_t last = 1;
  while (last < keep && is_directory(place.directory, numbered(last))) ++last;
  if (is_directory(place.directory, numbered(last))) {
    errno = place.directory.remove_tree(numbered(last));
    if (errno != 0) return "remove " + shown(last);
  } else if (errno != 0) {
    return "keep " + path + " as " + shown(last);
  }
  for (; last > 0; --last) {
    errno = place.directory.rename(numbered(last - 1), numbered(last));
    if (errno != 0) return "rename " + shown(last - 1) + " to " + shown(last);
  }
  return "";
}

}  // namespace dlaunch::output
