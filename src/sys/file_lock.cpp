#include "sys/file_lock.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "base/text.h"
#include "sys/descendants.h"
#include "sys/files.h"

namespace dlaunch::sys {
namespace {

constexpr std::size_t kLocksSize = 1u << 20;

/// The process with a lock on the file, from a line of /proc/locks: "1: FLOCK  ADVISORY  WRITE 4242 08:01:1234 0 EOF".
int locker_of(const struct stat& file) {
  std::array<char, 64> id{};
  std::snprintf(id.data(), id.size(), " %02x:%02x:%llu ", major(file.st_dev), minor(file.st_dev),
                static_cast<unsigned long long>(file.st_ino));
  for (const std::string& line : split(read_file("/proc/locks", kLocksSize).value_or(""), '\n')) {
    const std::size_t end = line.find(id.data());
    if (end == std::string::npos || line.find("FLOCK") == std::string::npos) continue;
    const std::size_t start = line.rfind(' ', end - 1) + 1;
    int pid = 0;
    std::from_chars(line.data() + start, line.data() + end, pid);
    if (pid > 0) return pid;
  }
  return 0;
}

/// Anyone who may read a file can lock it; only locks of this user and of root count.
bool is_obeyed(int pid) {
  struct stat process{};
  if (pid == 0 || ::stat(("/proc/" + std::to_string(pid)).c_str(), &process) != 0) return true;
  return process.st_uid == 0 || process.st_uid == ::geteuid();
}

int locker_of(int fd) {
  struct stat file{};
  return ::fstat(fd, &file) == 0 ? locker_of(file) : 0;
}

}  // namespace

std::string writes_there(LockHolder holder) {
  return (holder.pid == 0 ? "another job, perhaps on another host," : "process " + std::to_string(holder.pid)) +
         " writes there";
}

bool try_lock(int fd, Lock kind) {
  constexpr int kAttempts = 5;  // another job that looks for locks has a lock for a moment
  constexpr std::chrono::milliseconds kPause{10};
  const int operation = (kind == Lock::shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  for (int attempt = 1; ::flock(fd, operation) != 0 && errno == EWOULDBLOCK; ++attempt) {
    if (attempt == kAttempts) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

std::optional<LockHolder> lock_file(int fd, Lock kind) {
  if (try_lock(fd, kind)) return std::nullopt;
  const int locker = locker_of(fd);
  if (!is_obeyed(locker)) return std::nullopt;
  const auto process = locker == 0 ? std::nullopt : find_process(locker);
  const int launcher = process ? process->parent : 0;
  if (launcher == ::getppid() && locker != ::getpid()) return std::nullopt;
  return LockHolder{launcher};
}

bool is_locked(const Fd& file) {
  if (!file) return false;
  const bool exclusively = ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return (exclusively || !try_lock(file.get())) && is_obeyed(locker_of(file.get()));
}

bool is_locked(const struct stat& file) {
  const int locker = locker_of(file);
  return locker != 0 && is_obeyed(locker);
}

std::vector<std::string> locked_by_jobs(int directory) {
  std::vector<std::string> found;
  const std::string above = link_target("/proc/self/fd/" + std::to_string(directory)) + '/';
  for (const Process& process : all_processes()) {
    if (!process.name.starts_with("dlaunch") || !is_obeyed(process.pid)) continue;
    const std::string of_process = "/proc/" + std::to_string(process.pid);
    for_each_entry(of_process + "/fd", [&](const dirent& entry) {
      const std::string path = link_target(of_process + "/fd/" + entry.d_name);
      if (!path.starts_with(above)) return true;
      const auto locks = read_file(of_process + "/fdinfo/" + entry.d_name);
      if (locks && locks->find("FLOCK") != std::string::npos) found.push_back(path.substr(above.size()));
      return true;
    });
  }
  return found;
}

}  // namespace dlaunch::sys
