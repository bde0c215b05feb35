#include "agent/environment.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "plan/mpi.h"
#include "sys/fd.h"
#include "sys/io.h"

namespace dlaunch::agent {
namespace {

constexpr mode_t kEnvironmentMode = 0600;

bool is_pmi1(const std::string& entry) {
  return std::ranges::any_of(plan::kPmi1Variables, [&](std::string_view name) {
    return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
  });
}

}  // namespace

int save_environment(const std::string& directory, const std::vector<std::string>& shared,
                     const std::vector<std::string>& own) {
  std::string text;
  for (const auto* entries : {&shared, &own}) {
    for (const std::string& entry : *entries) text.append(entry).append("\n");
  }
  const std::string name = directory + '/' + kEnvironmentFile;
  ::unlink(name.c_str());
  const sys::Fd file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kEnvironmentMode));
  return file && sys::write_all(file.get(), text) ? 0 : errno;
}

bool has_name_of(const std::vector<std::string>& env, const std::string& other) {
  const std::string_view start = std::string_view(other).substr(0, other.find('=') + 1);
  return std::ranges::any_of(env, [&](const std::string& entry) { return entry.starts_with(start); });
}

void add_unless_there(std::vector<std::string>& env, const std::string& added) {
  if (!has_name_of(env, added)) env.push_back(added);
}

void drop_pmi1(std::vector<std::string>& env) { std::erase_if(env, is_pmi1); }

void drop_planned_pmi1(std::vector<std::string>& env, std::uint32_t ranks) {
  std::erase(env, "PMI_FD=" + std::to_string(plan::kPmiFd));
  std::erase(env, "PMI_SIZE=" + std::to_string(ranks));
}

void add_login(std::vector<std::string>& env) {
  for (const char* name : {"HOME", "USER", "LOGNAME", "SHELL", "TMPDIR"}) {
    if (const char* value = std::getenv(name)) add_unless_there(env, std::string(name) + '=' + value);
  }
}

}  // namespace dlaunch::agent
