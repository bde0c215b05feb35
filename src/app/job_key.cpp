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

tl::unexpected<Error> no_key(const std::string& file, std::string why, std::string hint) {
  return fail(
      {.where = "--key-file " + file, .what = "is no file for a key", .why = std::move(why), .hint = std::move(hint)});
}

/// A mounted secret is a link to a file of root's; what counts is who may read and write the file itself.
Result<std::string> read_key_file(const std::string& name) {
  const sys::Fd file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0)
    return no_key(name, std::strerror(errno), "make one: openssl rand -hex 32");
  if (!S_ISREG(facts.st_mode)) return no_key(name, "it is no regular file", "");
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0)
    return no_key(name, "it is another user's", "make one of your own");
  if ((facts.st_mode & kOthers) != 0) return no_key(name, "others may read or write it", "chmod 600 " + name);
  auto text = sys::read_file(file, dialback::kMostKeyText + 1);
  if (!text) return no_key(name, std::strerror(errno), "");
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
                 .what = "no key is given",
                 .why = "nodes prove to each other by a key that only this job's have",
                 .hint = "name a file of it by --key-file, or set DLAUNCH_KEY, the same on every node"});
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
