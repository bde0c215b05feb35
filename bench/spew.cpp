// The writer of the streaming rows: `spew BYTES [--sequence|--equal]` writes whole 80-byte lines in large writes, BYTES
// in total. A line is "RRRRRR SSSSSSSSSSSS ~~~…": the rank (0 with --equal), the line number (0 without an option),
// padding.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

constexpr std::size_t kLine = 80;
constexpr std::size_t kLinesPerWrite = 768;  // 15 pages: whole pages and whole lines, smaller than a default pipe
constexpr std::size_t kNumberEnd = 19;       // position after the last digit of the line number

int own_rank() {
  for (const char* name : {"DLAUNCH_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "BENCH_RANK"}) {
    if (const char* value = std::getenv(name)) return std::atoi(value);
  }
  return 0;
}

std::string block_of(int rank) {
  std::array<char, kLine> head{};
  std::snprintf(head.data(), head.size(), "%06d %012d ", rank, 0);
  std::string line(head.data());
  line.append(kLine - 1 - line.size(), '~').push_back('\n');
  std::string block;
  for (std::size_t i = 0; i < kLinesPerWrite; ++i) block += line;
  return block;
}

void put_number(char* line, unsigned long number) {
  for (char* digit = line + kNumberEnd - 1; number != 0; --digit, number /= 10) {
    *digit = static_cast<char>('0' + number % 10);
  }
}

bool write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: spew BYTES [--sequence|--equal]\n");
    return 2;
  }
  const bool equal = argc > 2 && std::strcmp(argv[2], "--equal") == 0;
  const bool sequence = equal || (argc > 2 && std::strcmp(argv[2], "--sequence") == 0);
  const unsigned long lines = std::strtoul(argv[1], nullptr, 10) / kLine;
  std::string block = block_of(equal ? 0 : own_rank());
  for (unsigned long done = 0; done < lines;) {
    const std::size_t now = std::min<std::size_t>(kLinesPerWrite, lines - done);
    for (std::size_t i = 0; sequence && i < now; ++i) put_number(block.data() + i * kLine, done + i);
    if (!write_all(std::string_view(block).substr(0, now * kLine))) {
      std::fprintf(stderr, "spew: cannot write: %s\n", std::strerror(errno));
      return 1;
    }
    done += now;
  }
  return 0;
}
