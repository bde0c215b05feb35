// The signals of a simulated process. They are linked in place of link/signals.cpp.
#include "link/signals.h"

#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <optional>
#include <set>
#include <utility>

#include "world/world.h"

namespace dlaunch::link {

using sim::World;

class Signals::Impl : public sim::SignalReceiver {
 public:
  explicit Impl(asio::io_context& io) : io_(io), process_(World::current().processes().current()) {
    if (process_) {
      process_->receiver = this;
    } else {
      World::current().add_receiver(this);
    }
  }
  ~Impl() override {
    if (process_) {
      if (process_->receiver == this) process_->receiver = nullptr;
    } else {
      World::current().remove_receiver(this);
    }
  }

  void add(int signal) {
    wanted_.insert(signal);
    if (process_ && process_->pending.erase(signal) > 0) deliver(signal);
  }
  void next(std::function<void(int)> handler) {
    handler_ = std::move(handler);
    work_.emplace(io_.get_executor());
    pass_on();
  }
  void cancel() {
    handler_ = {};
    work_.reset();
  }
  /// Pending signals merge, as the kernel's do.
  bool deliver(int signal) override {
    if (!wanted_.contains(signal)) return false;
    if (pending_.insert(signal).second) pass_on();
    return true;
  }

 private:
  void pass_on() {
    if (!handler_ || pending_.empty()) return;
    const int signal = *pending_.begin();
    pending_.erase(pending_.begin());
    asio::post(io_, [handler = std::exchange(handler_, {}), signal] { handler(signal); });
    work_.reset();
  }

  asio::io_context& io_;
  sim::Process* const process_;
  std::set<int> wanted_;
  std::set<int> pending_;
  std::function<void(int)> handler_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
};

Signals::Signals(asio::io_context& io) : impl_(std::make_unique<Impl>(io)) {}
Signals::~Signals() = default;
void Signals::add(int signal, bool) { impl_->add(signal); }
void Signals::next(std::function<void(int)> handler) { impl_->next(std::move(handler)); }
void Signals::cancel() { impl_->cancel(); }

}  // namespace dlaunch::link
