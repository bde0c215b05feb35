// ignore_term: ignores SIGTERM, prints "ready" and sleeps until it is killed.
#include <unistd.h>

#include <csignal>
#include <cstdio>

int main() {
  std::signal(SIGTERM, SIG_IGN);
  std::puts("ready");
  std::fflush(stdout);
  for (;;) pause();
}
