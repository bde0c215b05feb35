// tty_info: prints "tty 1 1 0" (whether 0, 1 and 2 are terminals) and "size ROWS COLUMNS" of the first terminal.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

int main() {
  std::printf("tty %d %d %d\n", isatty(0), isatty(1), isatty(2));
  for (int fd = 0; fd <= 2; ++fd) {
    winsize size{};
    if (ioctl(fd, TIOCGWINSZ, &size) != 0) continue;
    std::printf("size %d %d\n", size.ws_row, size.ws_col);
    break;
  }
  return 0;
}
