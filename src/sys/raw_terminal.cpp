#include "sys/raw_terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "sys/fd.h"

namespace dlaunch::sys {
namespace {

bool are_equal(const termios& a, const termios& b) {
  return a.c_iflag == b.c_iflag && a.c_oflag == b.c_oflag && a.c_lflag == b.c_lflag && a.c_cflag == b.c_cflag;
}

/// A shell may have set its own mode meanwhile.
void restore_mode(int fd, const termios& raw, const termios& before) {
  termios now{};
  if (::tcgetattr(fd, &now) != 0 || !are_equal(now, raw)) return;
  while (::tcsetattr(fd, TCSANOW, &before) != 0 && errno == EINTR) {
  }
}

/// Waits for the end of the pipe: this process restores the terminal first, unless it is killed.
void guard(int pipe, const std::string& path, const termios& raw, const termios& before) {
  ::setpgid(0, 0);  // KILL to the group of this process must not reach the child
  char byte = 0;
  while (::read(pipe, &byte, 1) < 0 && errno == EINTR) {
  }
  const Fd terminal(::open(path.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (terminal) restore_mode(terminal.get(), raw, before);
}

}  // namespace

bool RawTerminal::enter(bool output) {
  termios before{};
  char path[128];
  if (::tcgetpgrp(fd_) != ::getpgrp() || ::tcgetattr(fd_, &before) != 0) return false;
  if (is_raw() && (before.c_lflag & ICANON) == 0) return true;
  guardian_.reset();
  raw_ = before;
  ::cfmakeraw(&raw_);
  if (!output) raw_.c_oflag = before.c_oflag;
  if (::tcsetattr(fd_, TCSANOW, &raw_) != 0) return false;
  ::tcgetattr(fd_, &raw_);  // the terminal may not support all flags
  before_ = before;
  if (::ttyname_r(fd_, path, sizeof path) != 0) return true;
  auto guardian = HelperProcess::start([&](HelperProcess::Ends ends) { guard(ends.in, path, raw_, before); });
  if (guardian) guardian_.emplace(std::move(*guardian));
  return true;
}

void RawTerminal::restore() {
  if (!before_) return;
  restore_mode(fd_, raw_, *before_);
  before_.reset();
  guardian_.reset();
}

}  // namespace dlaunch::sys
