// stdin_sum: reads stdin to its end and prints "BYTES FNV1A64", the checksum in hexadecimal.
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>

namespace {

constexpr std::uint64_t kOffset = 0xcbf29ce484222325u;
constexpr std::uint64_t kPrime = 0x100000001b3u;

}  // namespace

int main() {
  static unsigned char buffer[1u << 16];
  std::uint64_t bytes = 0;
  std::uint64_t sum = kOffset;
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got < 0) {
      std::perror("stdin_sum");
      return 1;
    }
    if (got == 0) break;
    for (ssize_t i = 0; i < got; ++i) sum = (sum ^ buffer[i]) * kPrime;
    bytes += static_cast<std::uint64_t>(got);
  }
  std::printf("%" PRIu64 " %016" PRIx64 "\n", bytes, sum);
  return 0;
}
