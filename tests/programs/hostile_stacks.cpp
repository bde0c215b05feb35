// hostile_stacks name: waits in a function whose name demangles to gigabytes.
// hostile_stacks comm: waits without arguments, and with control characters in its name.
// hostile_stacks waits SECONDS: prints the number of EINTR from recv with a timeout, and from epoll_wait.
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

// Each argument of the template has two copies of the one before.
extern "C" [[gnu::noinline, gnu::used]] void waits() asm(
    "_Z1f1aIccES_IS0_S0_ES_IS1_S1_ES_IS2_S2_ES_IS3_S3_ES_IS4_S4_ES_IS5_S5_ES_IS6_S6_ES_IS7_S7_ES_IS8_S8_ES_IS9_S9_E"
    "S_ISA_SA_ES_ISB_SB_ES_ISC_SC_ES_ISD_SD_ES_ISE_SE_ES_ISF_SF_ES_ISG_SG_ES_ISH_SH_ES_ISI_SI_ES_ISJ_SJ_ES_ISK_SK_E"
    "S_ISL_SL_ES_ISM_SM_ES_ISN_SN_ES_ISO_SO_E");

void waits() {
  std::puts("ready");
  std::fflush(stdout);
  for (;;) {
    ::pause();
    asm volatile("");
  }
}

namespace {

using Clock = std::chrono::steady_clock;

void count(const char* name, Clock::time_point end, auto call) {
  int interrupted = 0;
  while (Clock::now() < end) {
    if (call() < 0 && errno == EINTR) ++interrupted;
  }
  std::printf("%s %d\n", name, interrupted);
}

int count_interruptions(int seconds) {
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  std::thread receives([end] {
    int ends[2] = {-1, -1};
    ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    const timeval limit{.tv_sec = 0, .tv_usec = 2000};
    ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    char byte = 0;
    count("recv", end, [&] { return ::recv(ends[0], &byte, 1, 0); });
  });
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event = {};
  count("epoll_wait", end, [&] { return ::epoll_wait(epoll, &event, 1, 1); });
  receives.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "waits" && argc == 3) return count_interruptions(std::atoi(argv[2]));
  if (mode != "name" && mode != "comm") return 2;
  if (mode == "comm") {  // it is in the cleared arguments
    for (int i = 0; i < argc; ++i) std::memset(argv[i], 0, std::strlen(argv[i]));
    ::prctl(PR_SET_NAME, "\n\033]0;X\007\033[31m", 0, 0, 0);
  }
  waits();
}
