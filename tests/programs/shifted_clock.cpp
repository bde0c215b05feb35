// Linked into an agent for tests: the wall clock of the program differs by CLOCK_SHIFT_MS milliseconds.
#include <cstdlib>
#include <ctime>

extern "C" {

int __real_clock_gettime(clockid_t id, timespec* now);

int __wrap_clock_gettime(clockid_t id, timespec* now) {
  const int result = __real_clock_gettime(id, now);
  static const char* const text = std::getenv("CLOCK_SHIFT_MS");
  if (result != 0 || id != CLOCK_REALTIME || !text) return result;
  constexpr long long kMs = 1'000'000;
  constexpr long long kSecond = 1000 * kMs;
  const long long shifted = now->tv_sec * kSecond + now->tv_nsec + std::atoll(text) * kMs;
  now->tv_sec = static_cast<time_t>(shifted / kSecond);
  now->tv_nsec = static_cast<long>(shifted % kSecond);
  return result;
}
}
