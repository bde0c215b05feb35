#include "output/rotation.h"

#include <sys/stat.h>

#include <cerrno>

namespace dlaunch::output {
namespace {

/// Whether the entry is a directory and not a link. If not, errno is ENOTDIR, or 0 if the entry does not exist.
bool is_directory(const sys::HeldDirectory& parent, const std::string& name) {
  const auto facts = parent.facts_of(name);
  errno = facts ? ENOTDIR : errno == ENOENT ? 0 : errno;
  return facts && S_ISDIR(facts->st_mode);
}

std::string numbered(std::string path, std::uint32_t n) {
  return n == 0 ? path : std::move(path) + '.' + std::to_string(n);
}

}  // namespace

std::string Rotation::name(std::uint32_t n) const { return numbered(place_.name, n); }
std::string Rotation::shown(std::uint32_t n) const { return numbered(path_, n); }

std::string Rotation::run() {
  if (!place_) return errno == ENOENT ? "" : "keep " + path_;
  if (!is_directory(place_.directory, place_.name)) return errno == 0 ? "" : "keep " + path_;
  std::uint32_t last = 1;
  while (last < keep_ && is_directory(place_.directory, name(last))) ++last;
  for (const std::uint32_t n : {std::uint32_t{0}, last}) {
    if (std::string failed = check(n); !failed.empty()) return failed;
  }
  if (std::string failed = rename_all(last); !failed.empty()) {
    undo();
    return failed;
  }
  return "";
}

std::string Rotation::check(std::uint32_t n) const {
  const sys::HeldDirectory kept = place_.directory.open_below(name(n));
  const auto obstacle = n != 0 && kept ? kept.obstacle_below() : std::nullopt;
  errno = obstacle ? obstacle->error : 0;
  if (errno != 0) return "remove " + shown(n);
  const std::string used = !kept                        ? ""
                           : n != 0 && kept.is_locked() ? "."
                           : obstacle                   ? obstacle->path
                                                        : kept.locked_below();
  errno = EBUSY;
  return used.empty() ? "" : "keep " + path_ + " while a job uses " + shown(n) + (used == "." ? "" : '/' + used);
}

std::string Rotation::rename_all(std::uint32_t last) {
  const std::string removed = "." + place_.name + ".removed.dlaunch";
  const bool removes = is_directory(place_.directory, name(last));
  if (!removes && errno != 0) return "keep " + path_ + " as " + shown(last);
  place_.directory.remove_tree(removed);  // of a job whose machine failed
  if (removes && !rename(name(last), removed)) return "remove " + shown(last);
  for (std::uint32_t n = last; n > 0; --n) {
    if (!rename(name(n - 1), name(n))) return "rename " + shown(n - 1) + " to " + shown(n);
  }
  if (!removes) return "";
  errno = gave_up_() ? ECANCELED : place_.directory.remove_tree(removed);
  return errno == 0 ? "" : "remove " + shown(last);
}

bool Rotation::rename(const std::string& from, const std::string& to) {
  errno = gave_up_() ? ECANCELED : place_.directory.rename(from, to);
  if (errno == 0) renamed_.emplace_back(from, to);
  return errno == 0;
}

void Rotation::undo() {
  const int error = errno;
  for (auto each = renamed_.rbegin(); each != renamed_.rend(); ++each) {
    place_.directory.rename(each->second, each->first);
  }
  errno = error;
}

}  // namespace dlaunch::output
