// The size of the user's terminal, which the terminals of --pty get.
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "launcher/components.h"

namespace dlaunch::launcher {
namespace {

std::optional<wire::WindowSize> window_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return std::nullopt;
  return wire::WindowSize{size.ws_row, size.ws_col};
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
