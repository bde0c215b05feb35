#include "dialback/start_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "sys/fd.h"
#include "sys/files.h"
#include "sys/io.h"
#include "transport/bootstrap.h"

namespace dlaunch::dialback {
namespace {

constexpr mode_t kOwnersAlone = 0700;
constexpr const char* kPrefix = "start-";

tl::unexpected<Error> no_files(const std::string& path, std::string why) {
  return fail({path, "cannot write the start files of the agents", std::move(why),
               "set XDG_CACHE_HOME to a directory shared by the hosts, or use --transport ssh"});
}

/// Returns why other users could replace the directory; empty: they cannot.
std::string not_ours_alone(const std::string& path) {
  for (size_t end = 0; end != path.npos; end = path.find('/', end + 1)) {
    const std::string above = end == 0 ? "/" : path.substr(0, end);
    struct stat status{};
    if (::lstat(above.c_str(), &status) != 0) return above + ": " + std::strerror(errno);
    if (status.st_uid != 0 && status.st_uid != ::geteuid()) return above + " belongs to another user";
    const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0;
    if (others_write) return "other users can write to " + above;
  }
  return "";
}

/// Removes directories of this user whose last change is more than kAbandonedAfter before `made`. Clocks of hosts and
/// disk may differ.
void remove_abandoned(const sys::HeldDirectory& parent, const sys::HeldDirectory& made) {
  const auto now = made.facts();
  if (!now) return;
  const auto is_abandoned = [&](const struct stat& status) {
    const std::chrono::seconds age(now->st_mtime - status.st_mtime);
    return status.st_uid == ::geteuid() && age > StartDirectory::kAbandonedAfter;
  };
  std::vector<std::string> abandoned;
  parent.for_each_entry([&](const dirent& entry) {
    if (std::string_view(entry.d_name).starts_with(kPrefix)) abandoned.emplace_back(entry.d_name);
    return true;
  });
  for (const std::string& name : abandoned) parent.remove_directory(name, is_abandoned);
}

}  // namespace

Result<StartDirectory> StartDirectory::make(const std::string& parent, const std::string& nonce) {
  if (parent.empty()) return no_files("HOME", "not set");
  if (!sys::HeldDirectory::make(parent, kOwnersAlone)) return no_files(parent, sys::why_not_opened(errno));
  char* const real = ::realpath(parent.c_str(), nullptr);
  if (!real) return no_files(parent, std::strerror(errno));
  const std::string there = real;
  std::free(real);  // NOLINT(cppcoreguidelines-no-malloc): realpath() gives it
  StartDirectory made(there, kPrefix + nonce);
  made.parent_ = sys::HeldDirectory::open(there);
  if (!made.parent_ || ::mkdirat(made.parent_.fd(), made.name_.c_str(), kOwnersAlone) != 0) {
    return no_files(made.path_, sys::why_not_opened(errno));
  }
  made.directory_ = made.parent_.open_below(made.name_);
  if (!made.directory_) {
    const int error = errno;
    made.parent_.remove_empty(made.name_);
    return no_files(made.path_, sys::why_not_opened(error));
  }
  if (std::string why = not_ours_alone(made.path_); !why.empty()) return no_files(made.path_, std::move(why));
  remove_abandoned(made.parent_, made.directory_);
  return made;
}

StartDirectory::~StartDirectory() {
  const auto facts = directory_ ? directory_.facts() : std::nullopt;
  if (facts) parent_.remove_directory(name_, [&](const struct stat& its) { return sys::is_same(its, *facts); });
}

Result<void> StartDirectory::write(const std::string& name, std::string_view text) const {
  const sys::Fd file = directory_.open_file(name, O_WRONLY | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  if (!file || !sys::write_all(file.get(), text)) return no_files(path_ + '/' + name, std::strerror(errno));
  return {};
}

std::string StartDirectory::read(const std::string& name) const {
  const sys::Fd file = directory_.open_file(name, O_RDONLY | O_NONBLOCK);
  return file ? sys::read_file(file, transport::kMaxAnswer).value_or("") : "";
}

}  // namespace dlaunch::dialback
