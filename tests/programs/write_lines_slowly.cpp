// write_lines_slowly LINES MILLISECONDS: writes "line N" in two halves, with a pause of MILLISECONDS after each half.
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace {

bool write_and_wait(std::string_view text, useconds_t pause) {
  if (write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return false;
  usleep(pause);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto pause = static_cast<useconds_t>(std::atoi(argv[2]) * 1000);
  for (int n = 1; n <= std::atoi(argv[1]); ++n) {
    if (!write_and_wait("line ", pause) || !write_and_wait(std::to_string(n) + '\n', pause)) return 1;
  }
  return 0;
}
