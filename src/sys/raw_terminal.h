// A terminal in raw mode: the kernel passes keys on as they are typed, without echo and without signals. A child
// process restores the terminal if this process is killed. Owned by the launcher.
#pragma once

#include <termios.h>

#include <optional>

#include "sys/helper_process.h"

namespace dlaunch::sys {

class RawTerminal {
 public:
  /// `fd` must outlive this object.
  explicit RawTerminal(int fd) : fd_(fd) {}
  ~RawTerminal() { restore(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  /// Switches the terminal to raw mode, also again after a shell has set line mode. `output`: also for output, so
  /// that "\n" moves only down. Returns false if the descriptor is not a terminal, or another process group is in the
  /// foreground.
  bool enter(bool output);
  bool is_raw() const { return before_.has_value(); }
  /// Restores the mode before enter(). Does nothing if another process has changed the mode since.
  void restore();

 private:
  const int fd_;
  std::optional<termios> before_;
  termios raw_{};
  std::optional<HelperProcess> guardian_;
};

}  // namespace dlaunch::sys
