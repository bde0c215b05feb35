#include "agent/shared_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "stacks/proc.h"
#include "sys/files.h"

namespace dlaunch::agent {
namespace {

constexpr size_t kMostEntries = 10000;                // of the directory; if there are more, all files stay
constexpr size_t kLongestMaps = 8u << 20;             // of a process
constexpr size_t kMostPaths = 8;                      // in a text
constexpr std::chrono::milliseconds kLookLimit{100};  // meanwhile the ranks wait for their signal
constexpr int kRest = 50;                             // the pause after a search: 50 times its duration

/// The names of the files that libraries share. A name with a pid is "PREFIX_PID_…"; other names end in random letters.
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

std::optional<std::string> own_file(const sys::HeldDirectory& directory, const std::string& name) {
  const auto seen = directory.facts_of(name);
  if (!seen || !S_ISREG(seen->st_mode) || seen->st_uid != ::geteuid()) return std::nullopt;
  return id_of(*seen);
}

void add_mapped(int pid, std::set<std::string>& ids) {
  const auto maps = sys::read_file("/proc/" + std::to_string(pid) + "/maps", kLongestMaps).value_or("");
  for (stacks::Mapping& mapping : stacks::parse_maps(maps)) ids.insert(std::move(mapping.file));
}

void add_open(int pid, std::set<std::string>& ids) {
  const sys::HeldDirectory files = sys::HeldDirectory::open("/proc/" + std::to_string(pid) + "/fd");
  if (!files) return;
  files.for_each_entry([&](const dirent& entry) {
    struct stat file{};
    if (::fstatat(files.fd(), entry.d_name, &file, 0) == 0 && S_ISREG(file.st_mode)) ids.insert(id_of(file));
    return true;
  });
}

/// The files that other processes of this user have open or mapped; nullopt if the time was too short. Another user
/// cannot have created a file of this user.
std::optional<std::set<std::string>> held_by_others(const std::set<int>& round, Time deadline) {
  std::set<std::string> ids;
  for (const sys::Process& process : sys::all_processes()) {
    if (Clock::now() >= deadline) return std::nullopt;
    struct stat owner{};
    const bool ours = ::stat(("/proc/" + std::to_string(process.pid)).c_str(), &owner) == 0 &&
                      owner.st_uid == ::geteuid() && !round.contains(process.pid);
    if (!ours) continue;
    add_mapped(process.pid, ids);
    add_open(process.pid, ids);
  }
  return ids;
}

/// Opens a file that no other process has open or mapped: only then the kernel grants a write lease. Another process
/// that opens the file waits until the result is closed; the kernel's signal about this wait is ignored.
sys::Fd open_alone(const sys::HeldDirectory& directory, const std::string& name, const std::string& id) {
  sys::Fd file = directory.open_file(name, O_RDWR | O_NONBLOCK);
  struct stat seen{};
  const bool alone = file && ::fstat(file.get(), &seen) == 0 && id_of(seen) == id &&
                     ::fcntl(file.get(), F_SETSIG, SIGURG) == 0 && ::fcntl(file.get(), F_SETLEASE, F_WRLCK) == 0;
  return alone ? std::move(file) : sys::Fd();
}

constexpr std::size_t kReadSize = 16u << 10;
constexpr unsigned kEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_OPEN | IN_CLOSE | IN_ONLYDIR;

}  // namespace

SharedMemory::SharedMemory(std::string directory)
    : directory_(std::move(directory)),
      held_(sys::HeldDirectory::open(directory_)),
      watch_(directory_, [](std::string_view name) { return pid_in(name).has_value(); }) {
  known_ = held_ && held_.for_each_entry([this](const dirent& entry) {
    before_.insert(entry.d_name);
    return before_.size() <= kMostEntries;
  }) == 0 &&
           before_.size() <= kMostEntries;
}

std::vector<SharedMemory::File> SharedMemory::come() const {
  std::vector<File> files;
  if (!known_) return files;
  held_.for_each_entry([&](const dirent& entry) {
    const auto pid = pid_in(entry.d_name);
    if (!pid || before_.contains(entry.d_name)) return true;
    if (const auto id = own_file(held_, entry.d_name)) files.push_back({entry.d_name, *pid, *id});
    return files.size() < kMostEntries;
  });
  return files;
}

void SharedMemory::find_creators() {
  watch_.drain();
  const bool any = std::ranges::any_of(watch_.all(), [](const auto& file) {
    return file.second.whole && !file.second.created && pid_in(file.first) == 0;
  });
  const Time begin = Clock::now();
  if (!any || begin < next_look_) return;
  look(come());
  next_look_ = Clock::now() + kRest * (Clock::now() - begin);
}

void SharedMemory::record_mapped() {
  const auto files = come();
  if (std::ranges::none_of(files, [&](const File& file) { return file.pid == 0 && !mapped_.contains(file.id); }))
    return;
  const auto mapped = look(files);
  for (const File& file : files) {
    if (mapped.contains(file.id)) mapped_.insert(file.id);
  }
}

std::set<std::string> SharedMemory::look(const std::vector<File>& files) {
  watch_.drain();
  std::map<std::string, unsigned> opens;  // before the search, of files without a known creator
  bool several = false;
  for (const File& file : files) {
    const auto* history = watch_.of(file.name);
    if (!history || !history->whole || history->created || history->opens == 0) continue;
    opens[file.name] = history->opens;
    several = several || history->opens > 1;
  }
  const Time deadline = Clock::now() + kLookLimit;
  std::set<std::string> mapped;
  std::set<int> round;
  for (const sys::Process& process : sys::descendants()) {
    round.insert(process.pid);
    if (Clock::now() < deadline) add_mapped(process.pid, mapped);
  }
  const auto others = several ? held_by_others(round, deadline) : std::set<std::string>();
  watch_.drain();
  for (const File& file : files) {
    auto* history = watch_.of(file.name);
    const auto before = opens.find(file.name);
    if (!history || before == opens.end() || !history->whole || history->opens != before->second) continue;
    const bool alone = before->second == 1 || (others && !others->contains(file.id));
    history->created = alone && mapped.contains(file.id);
  }
  return mapped;
}

bool SharedMemory::is_created(const File& file) {
  if (file.pid != 0 && pids_.contains(file.pid)) return true;
  const auto* history = watch_.of(file.name);
  return history && history->created && mapped_.contains(file.id);
}

SharedMemory::Left SharedMemory::remove() {
  Left left;
  watch_.drain();
  for (const File& file : come()) {
    const sys::Fd alone = open_alone(held_, file.name, file.id);
    if (!alone) continue;
    const bool proven = is_created(file);
    if (proven && held_.remove_file(file.name) != 0) continue;
    (proven ? left.removed : left.unproven).push_back(directory_ + '/' + file.name);
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
         "found unused shared memory, perhaps of another job; to remove these files, run: rm" + listed(left.unproven);
}

CreationWatch::CreationWatch(const std::string& directory, std::function<bool(std::string_view)> wanted)
    : directory_(directory), wanted_(std::move(wanted)) {}

void CreationWatch::start() {
  events_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (events_ && ::inotify_add_watch(events_.get(), directory_.c_str(), kEvents) < 0) events_.reset();
}

void CreationWatch::drain() {
  alignas(inotify_event) char buffer[kReadSize];
  while (events_) {
    const ssize_t size = ::read(events_.get(), buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof event);
      const char* const name = buffer + at + sizeof event;
      take(event.len > 0 ? std::string_view(name) : std::string_view(), event.mask);
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
}

void CreationWatch::take(std::string_view name, unsigned mask) {
  if ((mask & (IN_Q_OVERFLOW | IN_IGNORED)) != 0) {
    for (auto& [file, history] : files_) history.whole = false;
  }
  if (name.empty() || (mask & IN_ISDIR) != 0 || !wanted_(name)) return;
  const auto found = files_.find(name);
  if ((mask & IN_CREATE) != 0) {
    if (found != files_.end()) {
      found->second = {};
    } else if (files_.size() < kMostFiles) {
      files_.emplace(name, History{});
    }
  } else if (found == files_.end()) {
    return;
  } else if ((mask & (IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)) != 0) {
    files_.erase(found);
  } else if ((mask & IN_OPEN) != 0) {
    ++found->second.opens;
  } else if ((mask & IN_CLOSE) != 0) {
    found->second.whole = false;
  }
}

CreationWatch::History* CreationWatch::of(const std::string& name) {
  const auto found = files_.find(name);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace dlaunch::agent
