#include "agent/job_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>

#include "base/environment.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "sys/fd.h"
#include "sys/helper_process.h"
#include "sys/io.h"
#include "sys/randomness.h"

namespace dlaunch::agent {
namespace {

// A temporary failure, such as too few descriptors or processes, may be over after a moment.
constexpr int kRemovals = 3;
constexpr std::chrono::milliseconds kPause{100};

std::string temporary() {
  auto directory = variable(own_environment(), "TMPDIR");
  return directory && directory->starts_with('/') ? *std::move(directory) : "/tmp";
}

constexpr const char* kDirectoryPrefix = "dlaunch-";
constexpr const char* kMemoryDirectories = "/dev/shm";

/// "/tmp/dlaunch-JOB-0123456789abcdef": a name that other users cannot predict.
std::string fresh_name(const std::string& path, const std::string& job_id) {
  return path + '/' + kDirectoryPrefix + job_id + '-' + sys::random_hex(8);
}

/// Performs system calls that change a disk; `work` returns 0 or an errno, and may use the descriptors `kept`.
using Change = std::function<int(const std::function<int()>& work, std::vector<int> kept)>;

int at_once(const std::function<int()>& work, const std::vector<int>& /*kept*/) { return work(); }

/// Performs the work in a child process, because the disk may not respond. Returns ETIMEDOUT after the patience; the
/// child is then killed. The patience is shorter than the time after which a host without heartbeats is lost.
int in_child(const std::function<int()>& work, std::vector<int> kept = {}) {
  constexpr std::chrono::seconds kPatience{3};
  auto child = sys::HelperProcess::start(
      [&](sys::HelperProcess::Ends ends) { sys::write_all(ends.out, std::to_string(work())); },
      sys::HelperProcess::Inherited::closed, std::move(kept));
  const auto result = child ? child->read_all(kPatience) : std::nullopt;
  if (!result) return errno;
  child->wait(kPatience);
  return static_cast<int>(parse_int(*result, 0, INT_MAX).value_or(EINTR));  // EINTR: the child was killed
}

/// Returns 0 or an errno.
int write_file(const sys::HeldDirectory& directory, const std::string& name, std::string_view bytes) {
  const sys::Fd file = directory.open_file(name, O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR);
  return file && sys::write_all(file.get(), bytes) ? 0 : errno;
}

/// Returns 0 or an errno, also ENOENT; another user's directory stays.
template <class IsOwn>
int remove_tree(const std::string& path, IsOwn is_own, const Change& change) {
  const auto remove = [&] {
    const sys::HeldPlace place = sys::HeldPlace::of(path);
    return place ? place.directory.remove_directory(place.name, is_own) : errno;
  };
  for (int tries = 1;; ++tries) {
    const int error = change(remove, {});
    if (error == 0 || error == ENOENT || error == ETIMEDOUT || tries == kRemovals) return error;
    std::this_thread::sleep_for(kPause);
  }
}

std::string not_removed(const std::string& path, int error) {
  return JobDirectory::Failure{error, std::string(kCannotRemove) + path}.text();
}

bool is_own(const struct stat& directory) { return directory.st_uid == ::geteuid(); }

}  // namespace

/// A directory that this job has made. The device and the inode are those of the directory itself.
struct JobDirectory::Made {
  char path[PATH_MAX];  // "": there is no directory
  struct stat facts;    // empty: unknown

  /// Returns the open directory. On failure errno is set; a disk that does not respond may create the directory later.
  /// `change` performs the system calls that change the disk.
  sys::HeldDirectory make(const std::string& new_path, const Change& change) {
    if (new_path.size() >= sizeof path) errno = ENAMETOOLONG;
    const sys::HeldPlace place = new_path.size() < sizeof path ? sys::HeldPlace::of(new_path) : sys::HeldPlace();
    if (!place) return {};
    const auto create = [&] { return ::mkdirat(place.directory.fd(), place.name.c_str(), S_IRWXU) == 0 ? 0 : errno; };
    errno = change(create, {place.directory.fd()});
    if (errno != 0) {
      if (errno == ETIMEDOUT) note(new_path, {});
      return {};
    }
    sys::HeldDirectory made = place.directory.open_below(place.name);
    const auto its = made ? made.facts() : std::nullopt;
    if (!its) {
      const int error = errno;
      const int left = change([&] { return place.directory.remove_empty(place.name); }, {place.directory.fd()});
      if (left != 0 && left != ENOENT) note(new_path, {});
      errno = error;
      return {};
    }
    note(new_path, *its);
    return made;
  }

  void note(const std::string& new_path, const struct stat& its) {
    facts = its;
    std::memcpy(path, new_path.c_str(), new_path.size() + 1);
  }

  int remove(const Change& change) const {
    const bool is_known = facts.st_ino != 0;
    const auto is_expected = [&](const struct stat& its) { return is_known ? sys::is_same(its, facts) : is_own(its); };
    const int error = remove_tree(path, is_expected, change);
    if (error != ENOENT) return error;
    return is_known ? 0 : ETIMEDOUT;
  }
};

struct JobDirectory::Both {
  Made files;
  Made memory;  // for make_shared_memory()
};

JobDirectory::JobDirectory() : made_(sys::SharedObject<Both>::make()) {
  if (!made_) sys::throw_errno("mmap");
}

JobDirectory::~JobDirectory() = default;

tl::expected<std::string, JobDirectory::Failure> JobDirectory::made() {
  if (failed_) return tl::unexpected(*failed_);
  if (made_->files.path[0] != '\0') return std::string(made_->files.path);
  std::string path = fresh_name(temporary(), job_id_);
  directory_ = made_->files.make(path, in_child);
  if (directory_) return path;
  failed_ = {errno, "cannot create " + path};
  return tl::unexpected(*failed_);
}

tl::expected<std::string, JobDirectory::Failure> JobDirectory::make(std::string_view name) {
  auto base = made();
  if (!base) return base;
  std::string path = *base + '/' + std::string(name);
  if (below_ == name) return path;
  const int error =
      in_child([&] { return directory_.make_below(std::string(name), S_IRWXU) ? 0 : errno; }, {directory_.fd()});
  below_ = name;
  if (error == 0) return path;
  failed_ = {error, "cannot create " + path};
  return tl::unexpected(*failed_);
}

bool JobDirectory::make_shared_memory(const std::string& path) {
  return static_cast<bool>(made_->memory.make(path, at_once));
}

tl::expected<std::string, JobDirectory::Failure> JobDirectory::keep(std::string_view name, std::string_view bytes) {
  if (name.empty() || name.front() == '.' || name.find('/') != std::string_view::npos) {
    return tl::unexpected(Failure{EINVAL, "protocol error: the launcher sent an invalid file name"});
  }
  auto base = made();
  if (!base) return base;
  std::string path = *base + '/' + std::string(name);
  const int error = in_child([&] { return write_file(directory_, std::string(name), bytes); }, {directory_.fd()});
  if (error == 0) return path;
  const Failure failure{error, "cannot write " + path};
  if (error == ETIMEDOUT) failed_ = failure;
  return tl::unexpected(failure);
}

std::vector<std::string> JobDirectory::remove() {
  std::vector<std::string> left;
  failed_.reset();
  below_.clear();
  for (Made* made : {&made_->files, &made_->memory}) {
    if (made->path[0] == '\0') continue;
    const int error = made->remove(made == &made_->files ? Change(in_child) : at_once);
    if (error != 0) left.push_back(not_removed(made->path, error));
    if (error == 0 || error == ETIMEDOUT) made->path[0] = '\0';  // the guardian must not wait for the disk, too
  }
  return left;
}

std::vector<std::string> JobDirectory::remove_left() const {
  std::vector<std::string> left;
  if (job_id_.empty()) return left;
  for (const auto& [where, change] : {std::pair(temporary(), Change(in_child)), {kMemoryDirectories, at_once}}) {
    const sys::HeldDirectory parent = sys::HeldDirectory::open(where);
    if (!parent) continue;
    parent.for_each_entry([&](const dirent& entry) {
      const std::string name = entry.d_name;
      const bool ours = name.starts_with(kDirectoryPrefix) && name.find(job_id_) != std::string::npos;
      const auto facts = ours ? parent.facts_of(name) : std::nullopt;
      if (!facts || !S_ISDIR(facts->st_mode) || !is_own(*facts)) return true;
      const int failed = remove_tree(where + '/' + name, is_own, change);
      if (failed != 0 && failed != ENOENT) left.push_back(not_removed(where + '/' + name, failed));
      return failed != ETIMEDOUT;
    });
  }
  return left;
}

}  // namespace dlaunch::agent
