// hydra [SECONDS]: prints "up" and leaves processes that signals to pids cannot end. Each one forks and exits
// repeatedly, and restarts its neighbour if that has ended. The processes have their own session and no streams, ignore
// every signal that can be ignored, and exit after SECONDS.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <initializer_list>

namespace {

constexpr int kHeads = 24;
constexpr long kSilentNs = 10'000'000;
constexpr useconds_t kRestUs = 2000;

struct Head {
  std::atomic<long> heard;
  std::atomic<int> owner;  // a process that is no longer the owner exits, so their number does not grow
};

long now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000L + now.tv_nsec;
}

/// In the child, `self` and `owner` are the values of the neighbour.
void begin_neighbour(Head* heads, int& self, int& owner) {
  const int other = (self + 1) % kHeads;
  int seen = heads[other].owner;
  if (now_ns() - heads[other].heard < kSilentNs || !heads[other].owner.compare_exchange_strong(seen, seen + 1)) return;
  heads[other].heard = now_ns();
  if (fork() != 0) return;
  self = other;
  owner = seen + 1;
}

}  // namespace

int main(int argc, char** argv) {
  const long end = now_ns() + (argc > 1 ? std::atol(argv[1]) : 30) * 1'000'000'000L;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_IGN);
  void* shared = mmap(nullptr, sizeof(Head[kHeads]), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  auto* heads = static_cast<Head*>(shared);
  std::puts("up");
  std::fflush(stdout);
  if (fork() != 0) return 0;
  setsid();
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; ++fd) dup2(null, fd);
  int self = 0;
  int owner = 0;
  while (now_ns() < end && heads[self].owner == owner) {
    heads[self].heard = now_ns();
    begin_neighbour(heads, self, owner);
    usleep(kRestUs);
    if (fork() > 0) _exit(0);
  }
  return 0;
}
