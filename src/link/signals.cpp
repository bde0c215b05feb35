#include "link/signals.h"

#include <asio/signal_set.hpp>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

namespace dlaunch::link {

class Signals::Impl {
 public:
  explicit Impl(asio::io_context& io) : set(std::in_place, io) {}

  /// Asio sets the default action. A blocked signal waits for the action that follows.
  ~Impl() {
    sigset_t blocked;
    sigset_t before;
    ::sigemptyset(&blocked);
    for (const int signal : ignored) ::sigaddset(&blocked, signal);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    set.reset();
    for (const int signal : ignored) ::signal(signal, SIG_IGN);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  std::optional<asio::signal_set> set;
  std::vector<int> ignored;
};

Signals::Signals(asio::io_context& io) : impl_(std::make_unique<Impl>(io)) {}
Signals::~Signals() = default;

void Signals::add(int signal, bool ignored) {
  if (ignored) impl_->ignored.push_back(signal);
  impl_->set->add(signal);
}

void Signals::next(std::function<void(int signal)> handler) {
  impl_->set->async_wait([handler = std::move(handler)](asio::error_code error, int signal) {
    if (!error) handler(signal);
  });
}

void Signals::cancel() { impl_->set->cancel(); }

}  // namespace dlaunch::link
