#include "dialback/start_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/try.h"
#include "sys/directory.h"
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

void remove_with_files(const std::string& path) {
  sys::for_each_entry(path, [&](const dirent& entry) {
    ::unlink((path + '/' + entry.d_name).c_str());
    return true;
  });
  ::rmdir(path.c_str());
}

/// Removes directories of this user whose last change is more than kAbandonedAfter before `made`. Clocks of hosts and
/// disk may differ.
void remove_abandoned(const std::string& parent, const std::string& made) {
  struct stat now{};
  if (::lstat(made.c_str(), &now) != 0) return;
  std::vector<std::string> abandoned;
  sys::for_each_entry(parent, [&](const dirent& entry) {
    const std::string path = parent + '/' + entry.d_name;
    struct stat status{};
    if (!std::string_view(entry.d_name).starts_with(kPrefix) || ::lstat(path.c_str(), &status) != 0) return true;
    const std::chrono::seconds age(now.st_mtime - status.st_mtime);
    const bool ours = S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
    if (ours && age > StartDirectory::kAbandonedAfter) abandoned.push_back(path);
    return true;
  });
  for (const std::string& path : abandoned) remove_with_files(path);
}

}  // namespace

Result<StartDirectory> StartDirectory::make(const std::string& parent, const std::string& nonce) {
  if (parent.empty()) return no_files("HOME", "not set");
  const int error = sys::make_directories(parent, kOwnersAlone);
  char* const real = ::realpath(parent.c_str(), nullptr);
  if (!real) return no_files(parent, std::strerror(errno == ENOENT && error != 0 ? error : errno));
  const std::string there = real;
  std::free(real);  // NOLINT(cppcoreguidelines-no-malloc): realpath() gives it
  const std::string path = there + '/' + kPrefix + nonce;
  if (::mkdir(path.c_str(), kOwnersAlone) != 0) return no_files(path, std::strerror(errno));
  StartDirectory made(path);
  if (std::string why = not_ours_alone(path); !why.empty()) return no_files(path, std::move(why));
  remove_abandoned(there, path);
  return made;
}

StartDirectory::StartDirectory(StartDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}

StartDirectory::~StartDirectory() {
  if (!path_.empty()) remove_with_files(path_);
}

Result<void> StartDirectory::write(const std::string& name, std::string_view text) const {
  const std::string path = path_ + '/' + name;
  const sys::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file || !sys::write_all(file.get(), text)) return no_files(path, std::strerror(errno));
  return {};
}

std::string StartDirectory::read(const std::string& name) const {
  const sys::Fd file(::open((path_ + '/' + name).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return file ? sys::read_file(file, transport::kMaxAnswer).value_or("") : "";
}

}  // namespace dlaunch::dialback
