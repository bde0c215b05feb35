#include "link/signals.h"

#include <asio/signal_set.hpp>
#include <utility>

namespace dlaunch::link {

class Signals::Impl {
 public:
  explicit Impl(asio::io_context& io) : set(io) {}
  asio::signal_set set;
};

Signals::Signals(asio::io_context& io) : impl_(std::make_unique<Impl>(io)) {}
Signals::~Signals() = default;

void Signals::add(int signal) { impl_->set.add(signal); }

void Signals::next(std::function<void(int signal)> handler) {
  impl_->set.async_wait([handler = std::move(handler)](asio::error_code error, int signal) {
    if (!error) handler(signal);
  });
}

void Signals::cancel() { impl_->set.cancel(); }

}  // namespace dlaunch::link
