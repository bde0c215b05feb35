#include "agent/job_cgroup.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "sys/cgroup.h"
#include "sys/io.h"
#include "sys/randomness.h"

namespace dlaunch::agent {
namespace {

constexpr std::string_view kPrefix = "dlaunch-";
constexpr int kMakings = 3;
constexpr int kEndings = 100;
constexpr std::chrono::milliseconds kEndingPause{1};  // interval of checks for the end of killed processes

/// Empty if another process has the lock, or the group is gone.
sys::Fd lock_cgroup(const std::string& path) {
  sys::Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!directory || ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return ::access(path.c_str(), F_OK) == 0 ? std::move(directory) : sys::Fd();
}

bool is_named(const std::string& path, const std::string& prefix) {
  return std::string_view(path).substr(path.rfind('/') + 1).starts_with(prefix);
}

/// Slurm ends all processes below the group of an srun step, but does not list processes in a group that dlaunch made
/// there. The groups step_batch, step_extern and step_interactive may outlive the job of dlaunch.
bool is_in_step_of_slurm(const std::string& path) {
  constexpr std::string_view kStep = "/step_";
  const size_t step = path.find(kStep, std::min(path.find("/job_"), path.size()));
  const char first = step == std::string::npos ? '\0' : path.c_str()[step + kStep.size()];
  return first >= '0' && first <= '9';
}

bool end_and_remove(const std::string& path) {
  for (int tries = 0; tries < kEndings; ++tries) {
    if (sys::remove_cgroup(path)) return true;
    sys::kill_cgroup(path);
    std::this_thread::sleep_for(kEndingPause);
  }
  return false;
}

}  // namespace

JobCgroup::JobCgroup() {
  if (!path_) sys::throw_errno("mmap");
}

/// Tries again if remove_abandoned() of another agent ran between the steps.
void JobCgroup::make(const std::string& job_id) {
  const auto own = sys::own_cgroup();
  if (!own || directory_ || is_in_step_of_slurm(*own)) return;
  for (int tries = 0; tries < kMakings && !directory_; ++tries) {
    const std::string path = *own + '/' + std::string(kPrefix) + job_id + '-' + sys::random_hex(4);
    if (path.size() >= sizeof path_->text || ::mkdir(path.c_str(), S_IRWXU) != 0) return;
    std::memcpy(path_->text, path.c_str(), path.size() + 1);
    directory_ = lock_cgroup(path);
    if (!directory_) remove();
  }
}

void JobCgroup::adopt_left(const std::string& job_id) {
  const auto mount = sys::cgroup_mount();
  if (!mount) return;
  for (std::string& path : sys::cgroup_tree(*mount)) {
    if (is_named(path, std::string(kPrefix) + job_id + '-') && lock_cgroup(path)) adopted_.push_back(std::move(path));
  }
}

std::vector<std::string> JobCgroup::all() const {
  std::vector<std::string> paths = adopted_;
  if (*path_->text != '\0') paths.emplace_back(path_->text);
  return paths;
}

std::vector<sys::Process> JobCgroup::processes() const {
  std::vector<sys::Process> found;
  for (const std::string& path : all()) {
    for (sys::Process& process : sys::processes_in(path)) found.push_back(std::move(process));
  }
  return found;
}

void JobCgroup::kill() const {
  for (const std::string& path : all()) sys::kill_cgroup(path);
}

std::vector<std::string> JobCgroup::remove() {
  std::vector<std::string> left;
  for (const std::string& path : all()) {
    if (!end_and_remove(path)) left.push_back(path + ": cannot end all processes of the cgroup");
  }
  if (left.empty()) {
    *path_->text = '\0';
    directory_.reset();
    adopted_.clear();
  }
  return left;
}

void JobCgroup::remove_abandoned() {
  const auto own = sys::own_cgroup();
  if (!own) return;
  for (const std::string& path : sys::cgroups_in(*own)) {
    if (is_named(path, std::string(kPrefix)) && lock_cgroup(path)) sys::remove_cgroup(path);
  }
}

}  // namespace dlaunch::agent
