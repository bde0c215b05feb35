#include "agent/job_directory.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "base/environment.h"
#include "sys/directory.h"
#include "sys/fd.h"
#include "sys/io.h"
#include "sys/randomness.h"

namespace dlaunch::agent {
namespace {

constexpr size_t kShared = PATH_MAX;
constexpr int kTries = 8;
constexpr int kOpenDirectories = 8;
constexpr int kRemovals = 3;  // a temporary failure, such as too few descriptors, may be over after a moment

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

/// Returns 0 or an errno.
int write_file(const std::string& path, std::string_view bytes) {
  const sys::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  return file && sys::write_all(file.get(), bytes) ? 0 : errno;
}

int remove_one(const char* path, const struct stat*, int, struct FTW*) {
  ::remove(path);  // a failure shows later: the directory stays
  return 0;
}

/// Returns 0 or an errno.
int remove_tree(const char* path) {
  for (int tries = 0; tries < kRemovals; ++tries) {
    ::nftw(path, remove_one, kOpenDirectories, FTW_DEPTH | FTW_PHYS);
    if (::rmdir(path) != 0 && errno == ENOENT) return 0;
  }
  return errno;
}

std::string not_removed(const std::string& path, int error) {
  return "cannot remove " + path + ": " + std::strerror(error);
}

/// lstat: the owner is known only for the directory itself, so links are not followed.
bool is_own_directory(const std::string& path) {
  struct stat seen{};
  return ::lstat(path.c_str(), &seen) == 0 && S_ISDIR(seen.st_mode) && seen.st_uid == ::geteuid();
}

}  // namespace

JobDirectory::JobDirectory() {
  void* page = ::mmap(nullptr, 2 * kShared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) sys::throw_errno("mmap");
  path_ = static_cast<char*>(page);
  memory_ = path_ + kShared;
}

JobDirectory::~JobDirectory() { ::munmap(path_, 2 * kShared); }

tl::expected<std::string, JobDirectory::Failure> JobDirectory::made() {
  for (int tries = 0; *path_ == '\0'; ++tries) {
    const std::string path = fresh_name(temporary(), job_id_);
    if (path.size() >= kShared) return tl::unexpected(Failure{ENAMETOOLONG, "cannot create a directory in TMPDIR"});
    if (::mkdir(path.c_str(), S_IRWXU) == 0) {
      std::memcpy(path_, path.c_str(), path.size() + 1);
    } else if (errno != EEXIST || tries == kTries) {
      return tl::unexpected(Failure{errno, "cannot create " + path});
    }
  }
  return std::string(path_);
}

tl::expected<std::string, JobDirectory::Failure> JobDirectory::make(std::string_view name) {
  auto base = made();
  if (!base) return base;
  std::string path = *base + '/' + std::string(name);
  if (::mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST) return path;
  return tl::unexpected(Failure{errno, "cannot create " + path});
}

bool JobDirectory::make_shared_memory(const std::string& path) {
  if (path.size() >= kShared || ::mkdir(path.c_str(), S_IRWXU) != 0) return false;
  std::memcpy(memory_, path.c_str(), path.size() + 1);
  return true;
}

tl::expected<std::string, JobDirectory::Failure> JobDirectory::keep(std::string_view name, std::string_view bytes) {
  if (name.empty() || name.front() == '.' || name.find('/') != std::string_view::npos) {
    return tl::unexpected(Failure{EINVAL, "invalid name of a job file"});
  }
  auto base = made();
  if (!base) return base;
  std::string path = *base + '/' + std::string(name);
  if (const int error = write_file(path, bytes)) return tl::unexpected(Failure{error, "cannot write " + path});
  return path;
}

std::vector<std::string> JobDirectory::remove() {
  std::vector<std::string> left;
  for (char* path : {path_, memory_}) {
    if (*path == '\0') continue;
    if (const int error = remove_tree(path)) {
      left.push_back(not_removed(path, error));
    } else {
      *path = '\0';
    }
  }
  return left;
}

std::vector<std::string> JobDirectory::remove_left() const {
  std::vector<std::string> left;
  if (job_id_.empty()) return left;
  for (const std::string& where : {temporary(), std::string(kMemoryDirectories)}) {
    sys::for_each_entry(where, [&](const dirent& entry) {
      const std::string_view name = entry.d_name;
      const std::string path = where + '/' + entry.d_name;
      const bool ours = name.starts_with(kDirectoryPrefix) && name.find(job_id_) != std::string_view::npos;
      const int failed = ours && is_own_directory(path) ? remove_tree(path.c_str()) : 0;
      if (failed != 0) left.push_back(not_removed(path, failed));
      return true;
    });
  }
  return left;
}

}  // namespace dlaunch::agent
