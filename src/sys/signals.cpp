#include "sys/signals.h"

#include <csignal>

namespace dlaunch::sys {

bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace dlaunch::sys
