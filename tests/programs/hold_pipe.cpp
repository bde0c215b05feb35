// hold_pipe [SECONDS]: starts a child in its process group that keeps stdout and stderr open and sleeps, prints the
// child's pid, and exits with 0 at once.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const unsigned seconds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1000;
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    sleep(seconds);
    _exit(0);
  }
  std::printf("%d\n", child);
  return 0;
}
