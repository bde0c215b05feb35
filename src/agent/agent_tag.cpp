#include "agent/agent_tag.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#include <string_view>

#include "base/environment.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "hosts/named.h"
#include "sys/files.h"
#include "sys/io.h"

namespace dlaunch::agent {
namespace {

constexpr const char* kName = "dlaunch-agent-tag";
constexpr std::string_view kLink = "/memfd:dlaunch-agent-tag (deleted)";
constexpr std::string_view kProcessName = "dlaunch-agent";
constexpr size_t kLongest = 4096;

/// The time since the start of the kernel, which no user can set.
unsigned long long now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<unsigned long long>(now.tv_sec) * 1'000'000'000 + static_cast<unsigned long long>(now.tv_nsec);
}

/// The contents of the tag that a descriptor of another process refers to; empty: not a tag of this user. Another user
/// can pass a tag to a process of this user, but cannot create a file of this user.
std::string read_tag(const std::string& descriptor) {
  char target[PATH_MAX];
  const ssize_t size = ::readlink(descriptor.c_str(), target, sizeof target);
  if (size < 0 || std::string_view(target, static_cast<size_t>(size)) != kLink) return {};
  const sys::Fd file(::open(descriptor.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid()) return {};
  std::string text(kLongest, '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

std::string tag_of(int pid) {
  const std::string descriptors = "/proc/" + std::to_string(pid) + "/fd";
  std::string tag;
  sys::for_each_entry(descriptors, [&](const dirent& entry) {
    tag = read_tag(descriptors + '/' + entry.d_name);
    return tag.empty();
  });
  return tag;
}

bool is_of_this_user(int pid) {
  struct stat facts{};
  return ::stat(("/proc/" + std::to_string(pid)).c_str(), &facts) == 0 && facts.st_uid == ::geteuid();
}

/// This host's name if it is a fake host of --fake-hosts; else empty.
std::string fake_host() { return variable(own_environment(), hosts::kFakeHostVariable).value_or(""); }

}  // namespace

AgentTag::AgentTag() : file_(::memfd_create(kName, MFD_CLOEXEC)) {}

void AgentTag::write(const std::string& job_id, const std::string& host) {
  written_ = now_ns();
  job_on_host_ = job_id + '\n' + host + '\n';
  if (file_) sys::write_all(file_.get(), job_on_host_ + std::to_string(written_));
}

std::vector<sys::Process> AgentTag::older_agents() const {
  std::vector<sys::Process> found;
  if (job_on_host_.empty()) return found;
  for (sys::Process& process : sys::all_processes()) {
    if (process.name != kProcessName || !is_of_this_user(process.pid)) continue;
    const std::string tag = tag_of(process.pid);
    if (!tag.starts_with(job_on_host_)) continue;
    const auto written = std::strtoull(tag.c_str() + job_on_host_.size(), nullptr, 10);
    if (written < written_) found.push_back(std::move(process));
  }
  return found;
}

std::string host_identity() {
  const auto boot = sys::read_file("/proc/sys/kernel/random/boot_id");
  if (!boot) return {};
  std::string identity(trim(*boot));
  for (const char* const name : {"/proc/self/ns/net", "/proc/self/ns/uts", "/proc/self/ns/pid"}) {
    char target[PATH_MAX];
    const ssize_t size = ::readlink(name, target, sizeof target);
    if (size > 0) identity.append(" ").append(target, static_cast<size_t>(size));
  }
  if (const std::string fake = fake_host(); !fake.empty()) identity.append(" ").append(fake);
  return identity;
}

std::vector<std::string> marks_of_ranks(const std::string& job_id) {
  std::vector<std::string> marks = {rank_mark(job_id)};
  if (const std::string fake = fake_host(); !fake.empty()) {
    marks.push_back(std::string(hosts::kFakeHostVariable) + '=' + fake);
  }
  return marks;
}

}  // namespace dlaunch::agent
