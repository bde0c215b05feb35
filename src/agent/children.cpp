#include "agent/children.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace dlaunch::agent {

Launch launch_helper(const char* path, char* const* argv) {
  Launch launch;
  launch.path = path;
  launch.argv = argv;
  launch.envp = environ;
  launch.wdir = "/";
  ::getrlimit(RLIMIT_NOFILE, &launch.open_files);
  return launch;
}

tl::expected<pid_t, int> Children::spawn(const Launch& launch, OnEnd on_end) {
  const ProcessSpawner::Child child = fork(launch);
  if (child.pid < 0) return tl::unexpected(child.error);
  expect(child, std::move(on_end));
  return child.pid;
}

void Children::expect(const ProcessSpawner::Child& child, OnEnd on_end) {
  running_.insert_or_assign(child.pid, Running{child.slot, std::move(on_end)});
}

void Children::reaped(pid_t pid, int wait_status) {
  auto found = running_.extract(pid);
  if (found.empty()) return;
  Running& child = found.mapped();
  const End end{pid, wait_status, spawner_.take_failure(child.slot)};
  if (child.on_end) child.on_end(end);
}

}  // namespace dlaunch::agent
