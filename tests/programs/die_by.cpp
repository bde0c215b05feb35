// die_by SIGNAL: ends itself by the default action of the signal (a number), without a core dump.
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int signal_number = std::atoi(argv[1]);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
  return 99;  // the signal's default action does not end a process
}
