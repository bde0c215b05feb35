// rlimit_nofile: prints "SOFT HARD", the limits of open files.
#include <sys/resource.h>

#include <cstdio>

int main() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  std::printf("%llu %llu\n", static_cast<unsigned long long>(limit.rlim_cur),
              static_cast<unsigned long long>(limit.rlim_max));
  return 0;
}
