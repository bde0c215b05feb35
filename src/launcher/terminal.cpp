// The size of the user's terminal, which the terminals of --pty get.
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "launcher/components.h"

namespace dlaunch::launcher {
namespace {

/// stdout may be a pipe, as in `dlaunch --pty top | cat`, and stdin a file.
std::optional<wire::WindowSize> window_size() {
  for (const int fd : {STDOUT_FILENO, STDIN_FILENO, STDERR_FILENO}) {
    winsize size{};
    if (::ioctl(fd, TIOCGWINSZ, &size) == 0) return wire::WindowSize{size.ws_row, size.ws_col};
  }
  return std::nullopt;
}

class Terminal final : public Component {
 public:
  explicit Terminal(const Context& context) : context_(context) {}

  bool reached(int host) override {
    if (!context_.options.output.pty) return true;
    if (const auto size = window_size()) context_.hosts.send(host, *size);
    return true;
  }

  bool on_signal(int signal) override {
    if (signal != SIGWINCH && signal != SIGCONT) return false;  // the size may have changed while dlaunch was stopped
    const auto size = context_.options.output.pty ? window_size() : std::nullopt;
    if (size) context_.hosts.send_to_all(*size);
    return signal == SIGWINCH;
  }

 private:
  const Context& context_;
};

}  // namespace

std::unique_ptr<Component> make_terminal(const Context& context) { return std::make_unique<Terminal>(context); }

}  // namespace dlaunch::launcher
