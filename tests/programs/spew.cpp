// spew BYTES [LINE_LENGTH]: writes BYTES to stdout in large writes, as lines of LINE_LENGTH (80) bytes with the
// newline; the last line may be shorter. A line is its number, padded with letters, so that lost or torn lines are
// detected.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr size_t kWrite = 1u << 20;

std::string line(unsigned long long number, size_t length) {
  std::string text = std::to_string(number) + ' ';
  for (char c = 'a'; text.size() + 1 < length; c = c == 'z' ? 'a' : static_cast<char>(c + 1)) text += c;
  text.resize(length - 1);
  return text + '\n';
}

bool write_all(const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(STDOUT_FILENO, data, size);
    if (written < 0) return false;
    data += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  unsigned long long left = std::strtoull(argv[1], nullptr, 10);
  const size_t length = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 80;
  if (length < 1) return 2;
  std::string block;
  for (unsigned long long number = 0; left > 0;) {
    block.clear();
    while (block.size() < std::min<unsigned long long>(kWrite, left)) block += line(number++, length);
    block.resize(std::min<unsigned long long>(block.size(), left));
    if (!write_all(block.data(), block.size())) {
      std::perror("spew");
      return 1;
    }
    left -= block.size();
  }
  return 0;
}
