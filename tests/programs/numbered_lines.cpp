// numbered_lines DIR LINES MICROSECONDS LENGTH [CODE [FIRST]]: writes LINES numbered lines to stdout and LINES to
// stderr, with a pause of MICROSECONDS after each pair, and exits with CODE. A line is "RANK:o:NUMBER:" (e for stderr)
// and at most LENGTH letters, which follow from RANK and NUMBER, so that lost, torn or mixed lines are detected. The
// first NUMBER is FIRST + 1. The file DIR/RANK records the program's actions: "begin PID HOST JOB", and right before
// its exit "end CODE NANOSECONDS", with CODE 3 if a line could not be written.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "-";
}

bool write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = write(fd, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    data.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string line(int rank, char stream, int number, int length) {
  const auto letters = static_cast<size_t>((rank * 31 + number * 17 + (stream == 'e' ? 7 : 0)) % length);
  const char letter = static_cast<char>('a' + (rank + number) % 26);
  return std::to_string(rank) + ':' + stream + ':' + std::to_string(number) + ':' + std::string(letters, letter) + '\n';
}

std::string begin() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return "begin " + std::to_string(getpid()) + ' ' + host + ' ' + variable("DLAUNCH_JOB_ID") + '\n';
}

std::string end(int code) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return "end " + std::to_string(code) + ' ' + std::to_string(now.tv_sec * 1'000'000'000LL + now.tv_nsec) + '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const int rank = std::atoi(variable("RANK_ID").c_str());
  const int lines = std::atoi(argv[2]);
  const int length = std::atoi(argv[4]);
  const int code = argc > 5 ? std::atoi(argv[5]) : 0;
  const int first = argc > 6 ? std::atoi(argv[6]) : 0;
  const int witness = open((std::string(argv[1]) + '/' + std::to_string(rank)).c_str(),
                           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (witness < 0 || length < 1 || !write_all(witness, begin())) return 2;
  for (int number = first + 1; number <= first + lines; ++number) {
    if (!write_all(STDOUT_FILENO, line(rank, 'o', number, length)) ||
        !write_all(STDERR_FILENO, line(rank, 'e', number, length))) {
      write_all(witness, end(3));
      return 3;
    }
    usleep(static_cast<useconds_t>(std::atoi(argv[3])));
  }
  if (!write_all(witness, end(code))) return 2;
  _exit(code);
}
