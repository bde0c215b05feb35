// signal_echo: prints "ready PID", then the name of each received signal (USR1 USR2 CONT WINCH INT HUP TERM), and dies
// of TERM. Also prints a signal that arrived while the parent had it blocked.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <initializer_list>

int main() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGINT, SIGHUP, SIGTERM}) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  std::printf("ready %d\n", getpid());
  for (int number = 0; number != SIGTERM;) {
    std::fflush(stdout);
    if (sigwait(&set, &number) != 0) return 1;
    std::printf("%s\n", sigabbrev_np(number));
  }
  std::fflush(stdout);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  return std::raise(SIGTERM);
}
