// daemonize [SECONDS]: starts a daemon that sleeps for SECONDS (double fork, its own session, its own streams), prints
// the daemon's pid, and sleeps for the same time.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

[[noreturn]] void be_daemon(int report, unsigned seconds) {
  const pid_t self = getpid();
  const bool told = write(report, &self, sizeof self) == sizeof self;
  close(report);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; ++fd) dup2(null, fd);
  if (told) sleep(seconds);
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned seconds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1000;
  int report[2];
  if (pipe(report) != 0) return 1;
  const pid_t middle = fork();
  if (middle < 0) return 1;
  if (middle == 0) {
    setsid();
    if (fork() == 0) be_daemon(report[1], seconds);
    _exit(0);
  }
  waitpid(middle, nullptr, 0);
  pid_t daemon = 0;
  if (read(report[0], &daemon, sizeof daemon) != sizeof daemon) return 1;
  std::printf("%d\n", daemon);
  std::fflush(stdout);
  sleep(seconds);
  return 0;
}
