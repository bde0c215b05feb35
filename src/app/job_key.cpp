#include "app/job_key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/environment.h"
#include "sys/fd.h"
#include "sys/files.h"

namespace dlaunch::app {
namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

tl::unexpected<Error> unreadable(const std::string& file, int error, std::string hint) {
  return fail(
      {.where = "--key-file", .what = "cannot read " + file, .why = std::strerror(error), .hint = std::move(hint)});
}

tl::unexpected<Error> no_key(const std::string& file, std::string why, std::string hint) {
  return fail(
      {.where = "--key-file " + file, .what = "invalid key file", .why = std::move(why), .hint = std::move(hint)});
}

/// A mounted secret is a link to a file of root; therefore checks the owner and mode of the file itself.
Result<std::string> read_key_file(const std::string& name) {
  const sys::Fd file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0)
    return unreadable(name, errno, errno == ENOENT ? "run openssl rand -hex 32 to make a key" : "check permissions");
  if (!S_ISREG(facts.st_mode)) return no_key(name, "not a regular file", "write the key to a regular file");
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0)
    return no_key(name, "the file belongs to another user", "use your own file");
  if ((facts.st_mode & kOthers) != 0)
    return no_key(name, "other users can read or write the file", "run chmod 600 " + name);
  auto text = sys::read_file(file, dialback::kMostKeyText + 1);
  if (!text) return unreadable(name, errno, "check the file system");
  return *std::move(text);
}

}  // namespace

std::string take_key_variable(std::vector<std::string>& environment) {
  std::string key;
  if (char* value = ::getenv(kKeyVariable)) {
    key = value;
    ::explicit_bzero(value, key.size());
    ::unsetenv(kKeyVariable);
  }
  std::erase_if(environment, [](const std::string& entry) { return variable_name(entry) == kKeyVariable; });
  return key;
}

Result<dialback::Secret> choose_key(const std::string& file, const std::string& text) {
  if (file.empty() && text.empty()) {
    return fail({.where = "--same-line",
                 .what = "missing key",
                 .why = "the nodes of a job authenticate with a shared key",
                 .hint = "set --key-file FILE or DLAUNCH_KEY to the same key on every node"});
  }
  if (file.empty()) {
    auto key = dialback::job_key(text);
    if (!key) key.error().where = kKeyVariable;
    return key;
  }
  const auto read = read_key_file(file);
  if (!read) return fail(read.error());
  auto key = dialback::job_key(*read);
  if (!key) key.error().where = "--key-file " + file;
  return key;
}

}  // namespace dlaunch::app
