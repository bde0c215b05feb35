#include "transport/ssh/ssh_context.h"

#include <fcntl.h>
#include <glob.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/environment.h"
#include "sys/files.h"

namespace dlaunch::transport::ssh {
namespace {

constexpr std::size_t kLargestFile = 64u << 20;  // bytes; known_hosts of a large site has a few MiB

/// Opens the file first, like ssh: owner and mode belong to the file that is read.
std::optional<File> read_whole(const std::string& path) {
  const sys::Fd opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!opened || ::fstat(opened.get(), &status) != 0) return std::nullopt;
  auto text = sys::read_file(opened, kLargestFile);
  if (!text) return std::nullopt;
  return File{*std::move(text), status.st_uid, status.st_mode & 07777};
}

std::vector<std::string> files_named(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

}  // namespace

SshContext read_process_context() {
  SshContext here;
  const auto own = own_environment();
  const passwd* user = ::getpwuid(::getuid());  // NOLINT(concurrency-mt-unsafe): in the launcher's thread alone
  here.home = user ? user->pw_dir : variable(own, "HOME").value_or("/");
  here.user = user ? user->pw_name : variable(own, "USER").value_or("");
  here.user_id = ::getuid();
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) here.host_name = name.data();
  here.read_file = read_whole;
  here.glob = files_named;
  here.variable = [own](const std::string& wanted) { return variable(own, wanted); };
  return here;
}

}  // namespace dlaunch::transport::ssh
