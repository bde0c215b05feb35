#include "agent/shared_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "stacks/proc.h"
#include "sys/descendants.h"
#include "sys/directory.h"
#include "sys/fd.h"
#include "sys/files.h"

namespace dlaunch::agent {
namespace {

constexpr size_t kMostEntries = 10000;                // of the directory; if there are more, all files stay
constexpr size_t kLongestMaps = 8u << 20;             // of a process
constexpr size_t kMostPaths = 8;                      // in a text
constexpr std::chrono::milliseconds kLookLimit{100};  // meanwhile the ranks wait for their signal

/// Names of libraries' shared files: "PREFIX_PID_…" contains its creator's pid, the others end in random letters.
struct Shape {
  std::string_view prefix;
  bool has_pid;
};
constexpr std::array kShapes = {
    Shape{"torch_", true},           // PyTorch's tensors between processes
    Shape{"sem.loky-", true},        // joblib's semaphores
    Shape{"nccl-", false},           // segments of NCCL, between ranks of a host
    Shape{"ucx_shm_posix_", false},  // UCX's
    Shape{"mpich_shar_tmp", false},  // MPICH's
    Shape{"psm_", false},            // multiprocessing.shared_memory of Python
    Shape{"sem.mp-", false},         // multiprocessing's semaphores
};

/// The pid in a name of such a shape, 0 if the shape has no pid; nullopt if the name has another shape.
std::optional<pid_t> pid_in(std::string_view name) {
  for (const Shape& shape : kShapes) {
    if (!name.starts_with(shape.prefix)) continue;
    if (!shape.has_pid) return 0;
    const int pid = std::atoi(std::string(name.substr(shape.prefix.size())).c_str());
    return pid > 0 ? std::optional<pid_t>(pid) : std::nullopt;
  }
  return std::nullopt;
}

std::string id_of(const struct stat& file) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%02x:%02x %lu", major(file.st_dev), minor(file.st_dev), file.st_ino);
  return text.data();
}

std::optional<std::string> own_file(const std::string& path) {
  struct stat seen{};
  if (::lstat(path.c_str(), &seen) != 0 || !S_ISREG(seen.st_mode) || seen.st_uid != ::geteuid()) return std::nullopt;
  return id_of(seen);
}

/// Opens a file that no other process has open or mapped: only then the kernel grants a write lease. Another process
/// that opens the file waits until the result is closed; the kernel's signal about this wait is ignored.
sys::Fd open_alone(const std::string& path, const std::string& id) {
  sys::Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat seen{};
  const bool alone = file && ::fstat(file.get(), &seen) == 0 && id_of(seen) == id &&
                     ::fcntl(file.get(), F_SETSIG, SIGURG) == 0 && ::fcntl(file.get(), F_SETLEASE, F_WRLCK) == 0;
  return alone ? std::move(file) : sys::Fd();
}

}  // namespace

SharedMemory::SharedMemory(std::string directory) : directory_(std::move(directory)) {
  known_ = sys::for_each_entry(directory_,
                               [this](const dirent& entry) {
                                 before_.insert(entry.d_name);
                                 return before_.size() <= kMostEntries;
                               }) == 0 &&
           before_.size() <= kMostEntries;
}

std::vector<SharedMemory::File> SharedMemory::come() const {
  std::vector<File> files;
  if (!known_) return files;
  sys::for_each_entry(directory_, [&](const dirent& entry) {
    const auto pid = pid_in(entry.d_name);
    if (!pid || before_.contains(entry.d_name)) return true;
    std::string path = directory_ + '/' + entry.d_name;
    if (const auto id = own_file(path)) files.push_back({std::move(path), *pid, *id});
    return files.size() < kMostEntries;
  });
  return files;
}

void SharedMemory::record_mapped() {
  const auto files = come();
  if (std::ranges::none_of(files, [&](const File& file) { return file.pid == 0 && !mapped_.contains(file.id); }))
    return;
  std::set<std::string> all;
  const Time deadline = Clock::now() + kLookLimit;
  for (const sys::Process& process : sys::descendants()) {
    if (Clock::now() >= deadline) break;
    const auto maps = sys::read_file("/proc/" + std::to_string(process.pid) + "/maps", kLongestMaps).value_or("");
    for (stacks::Mapping& mapping : stacks::parse_maps(maps)) all.insert(std::move(mapping.file));
  }
  for (const File& file : files) {
    if (all.contains(file.id)) mapped_.insert(file.id);
  }
}

SharedMemory::Left SharedMemory::remove() {
  Left left;
  for (File& file : come()) {
    const sys::Fd alone = open_alone(file.path, file.id);
    if (!alone) continue;
    const bool proven = pids_.contains(file.pid) || mapped_.contains(file.id);
    if (proven && ::unlink(file.path.c_str()) != 0) continue;
    (proven ? left.removed : left.unproven).push_back(std::move(file.path));
  }
  return left;
}

std::string text_of(const SharedMemory::Left& left) {
  const auto listed = [](const std::vector<std::string>& paths) {
    std::string text;
    for (size_t i = 0; i < std::min(paths.size(), kMostPaths); ++i) text += ' ' + paths[i];
    return text + (paths.size() > kMostPaths ? " …" : "");
  };
  std::string text;
  if (!left.removed.empty()) text = "removed shared memory of killed ranks:" + listed(left.removed);
  if (left.unproven.empty()) return text;
  return text + (text.empty() ? "" : "; ") +
         "unused shared memory, perhaps of another job; to remove these files, run: rm" + listed(left.unproven);
}

}  // namespace dlaunch::agent
