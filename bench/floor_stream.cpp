// The floor of streaming: `floor_stream N PROGRAM [ARG…]` starts N writers with one pipe each and copies each chunk to
// stdout: no lines, no labels, one read per writer in turn. Larger pipes (1 MiB) and larger reads are not faster.
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
#include <string>
#include <vector>

namespace {

constexpr std::size_t kRead = 256 * 1024;

[[noreturn]] void die(const char* what, int error) {
  std::fprintf(stderr, "floor_stream: %s: %s\n", what, std::strerror(error));
  std::exit(1);
}

void start(int poller, int rank, char** command) {
  ::setenv("BENCH_RANK", std::to_string(rank).c_str(), 1);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) die("pipe2", errno);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = ends[0];
  if (::epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event) != 0) die("epoll_ctl", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, command[0], &actions, nullptr, command, environ);
  if (error != 0) die(command[0], error);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
}

void write_all(const char* from, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(STDOUT_FILENO, from, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) die("stdout", errno);
    from += n;
    size -= static_cast<std::size_t>(n);
  }
}

void copy_to_end(int poller, int open) {
  std::array<epoll_event, 256> events{};
  std::vector<char> buffer(kRead);
  while (open > 0) {
    const int count = ::epoll_wait(poller, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      const ssize_t n = ::read(fd, buffer.data(), buffer.size());
      if (n > 0) {
        write_all(buffer.data(), static_cast<std::size_t>(n));
        continue;
      }
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
    std::fprintf(stderr, "usage: floor_stream N PROGRAM [ARG...]\n");
    return 2;
  }
  const int writers = std::atoi(argv[1]);
  const int poller = ::epoll_create1(EPOLL_CLOEXEC);
  for (int rank = 0; rank < writers; ++rank) start(poller, rank, argv + 2);
  copy_to_end(poller, writers);
  int failed = 0;
  for (int i = 0; i < writers; ++i) {
    int status = 0;
    if (::wait(&status) < 0) die("wait", errno);
    if (status != 0) failed = 1;
  }
  return failed;
}
