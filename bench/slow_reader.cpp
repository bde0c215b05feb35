// The reader of the streaming rows: `slow_reader [--sleep SECONDS] [--check RANKS LINES]` sleeps, reads stdin to its
// end and prints the number of bytes as JSON. With --check, slow_reader also counts the lines of `spew --sequence`.
// - damaged: lines that are not one whole line of one rank, with or without a label;
// - disorder: whole lines in the wrong order for their rank (lost, duplicate or swapped);
// - missing: lines that did not arrive whole, of the expected RANKS x LINES.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kBody = 79;  // length of a line of spew, without newline
constexpr std::size_t kRankDigits = 6;
constexpr std::size_t kNumberDigits = 12;
constexpr std::size_t kHead = kRankDigits + 1 + kNumberDigits + 1;
constexpr std::size_t kMaxLabel = 48;

std::optional<std::size_t> number(std::string_view digits) {
  std::size_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::size_t>(c - '0');
  }
  return value;
}

class Checker {
 public:
  Checker(std::size_t ranks, std::size_t lines) : lines_(lines), next_(ranks, 0), seen_(ranks, 0) {}

  void feed(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      if (end == std::string_view::npos) {
        rest_ += bytes;
        return;
      }
      if (rest_.empty()) {
        line(bytes.substr(0, end));
      } else {
        line(rest_ += bytes.substr(0, end));
        rest_.clear();
      }
      bytes.remove_prefix(end + 1);
    }
  }

  void end() {
    if (!rest_.empty()) ++damaged_;
  }

  void print() const {
    std::size_t whole = 0;
    for (const std::size_t count : seen_) whole += count;
    const std::size_t wanted = lines_ * seen_.size();
    std::printf(", \"damaged\": %zu, \"disorder\": %zu, \"missing\": %zu", damaged_, disorder_,
                wanted > whole ? wanted - whole : 0);
  }

 private:
  void line(std::string_view text) {
    if (text.size() < kBody || text.size() > kBody + kMaxLabel) return void(++damaged_);
    const std::string_view label = text.substr(0, text.size() - kBody);
    const std::string_view body = text.substr(label.size());
    const auto rank = number(body.substr(0, kRankDigits));
    const auto count = number(body.substr(kRankDigits + 1, kNumberDigits));
    const bool filled = body.find_first_not_of('~', kHead) == std::string_view::npos;
    if (label.find('~') != std::string_view::npos || !filled || !rank || !count || *rank >= next_.size()) {
      return void(++damaged_);
    }
    if (*count != next_[*rank]) ++disorder_;
    next_[*rank] = *count + 1;
    ++seen_[*rank];
  }

  std::size_t lines_;
  std::vector<std::size_t> next_;
  std::vector<std::size_t> seen_;
  std::string rest_;
  std::size_t damaged_ = 0;
  std::size_t disorder_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  unsigned seconds = 0;
  std::optional<Checker> checker;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--sleep") == 0 && i + 1 < argc) {
      seconds = static_cast<unsigned>(std::atoi(argv[++i]));
    } else if (std::strcmp(argv[i], "--check") == 0 && i + 2 < argc) {
      checker.emplace(std::strtoul(argv[i + 1], nullptr, 10), std::strtoul(argv[i + 2], nullptr, 10));
      i += 2;
    } else {
      std::fprintf(stderr, "usage: slow_reader [--sleep SECONDS] [--check RANKS LINES]\n");
      return 2;
    }
  }
  ::sleep(seconds);
  std::vector<char> buffer(131072);  // as in cat
  unsigned long long total = 0;
  ssize_t n = 0;
  while ((n = ::read(STDIN_FILENO, buffer.data(), buffer.size())) > 0) {
    total += static_cast<unsigned long long>(n);
    if (checker) checker->feed({buffer.data(), static_cast<std::size_t>(n)});
  }
  if (checker) checker->end();
  std::printf("{\"bytes\": %llu", total);
  if (checker) checker->print();
  std::printf("}\n");
  return n == 0 ? 0 : 1;
}
