// The floor of a local start: `floor_spawn N PROGRAM [ARG…]` starts N children with two pipes each, reads all pipes to
// their end, and reaps all children.
#include <fcntl.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

[[noreturn]] void die(const char* what, int error) {
  std::fprintf(stderr, "floor_spawn: %s: %s\n", what, std::strerror(error));
  std::exit(1);
}

int watched_pipe(int poller) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) die("pipe2", errno);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = ends[0];
  if (::epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event) != 0) die("epoll_ctl", errno);
  return ends[1];
}

void start(int poller, char** command) {
  const int out = watched_pipe(poller);
  const int err = watched_pipe(poller);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, command[0], &actions, nullptr, command, environ);
  if (error != 0) die(command[0], error);
  posix_spawn_file_actions_destroy(&actions);
  ::close(out);
  ::close(err);
}

void read_to_end(int poller, int open) {
  std::array<epoll_event, 256> events{};
  std::array<char, 65536> buffer{};
  while (open > 0) {
    const int count = ::epoll_wait(poller, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (::read(fd, buffer.data(), buffer.size()) > 0) continue;
      // A child between fork and exec may still have the read end open; after only close, epoll would continue to
      // report this end.
      ::epoll_ctl(poller, EPOLL_CTL_DEL, fd, nullptr);
      ::close(fd);
      --open;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: floor_spawn N PROGRAM [ARG...]\n");
    return 2;
  }
  const int children = std::atoi(argv[1]);
  const int poller = ::epoll_create1(EPOLL_CLOEXEC);
  for (int i = 0; i < children; ++i) start(poller, argv + 2);
  read_to_end(poller, 2 * children);
  int failed = 0;
  for (int i = 0; i < children; ++i) {
    int status = 0;
    if (::wait(&status) < 0) die("wait", errno);
    if (status != 0) failed = 1;
  }
  return failed;
}
