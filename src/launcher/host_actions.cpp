// The hosts of running ranks: performs the job's actions on them, and reports hosts that are clean.
#include <asio/post.hpp>
#include <csignal>
#include <utility>
#include <variant>

#include "base/lifetime.h"
#include "launcher/components.h"

namespace dlaunch::launcher {
namespace {

class HostActions final : public Component {
 public:
  explicit HostActions(const Context& context) : context_(context) {}

  bool on(int host, wire::Message& message, std::deque<sys::Fd>&) override {
    auto* const clean = std::get_if<wire::Clean>(&message);
    if (clean) context_.happened(job::HostClean{host, std::move(clean->left)});
    return clean != nullptr;
  }

  void perform(const job::Action& action) override {
    std::visit(
        [this](const auto& a) {
          if constexpr (requires { this->act(a); }) act(a);
        },
        action);
  }

 private:
  void act(const job::SignalRanks& signal) const {
    const wire::Signal message{static_cast<std::uint32_t>(signal.signal)};
    const bool ending = context_.job.phase() >= job::Phase::ending;
    for (int host = 0; host < static_cast<int>(context_.plan.hosts.size()); ++host) {  // without the spare hosts
      if (host != signal.host.value_or(host)) continue;
      context_.hosts.send(host, message);
      if (ending) context_.hosts.ping(host);
    }
  }

  void act(const job::FinishHost& finish) const {
    context_.hosts.send(finish.host, wire::Finish{finish.stay});
    context_.hosts.ping(finish.host);
  }

  void act(const job::PingHost& ask) const { context_.hosts.ping(ask.host); }

  /// Posts the loss to the loop, because the loss changes the job.
  void act(const job::LoseHost& lose) const {
    asio::post(context_.io, lifetime_.guard([this, lose] {
      if (!context_.hosts.is_lost(lose.host)) context_.hosts.lose(lose.host, {lose.why});
    }));
  }

  void act(const job::DropHost& drop) const { context_.hosts.drop(drop.host); }

  void act(const job::StopSelf&) const {
    context_.hosts.pause();
    context_.output.streams().showing();  // erases the status line: the user's shell prints its prompt
    ::raise(SIGSTOP);
    context_.hosts.ping_all();
  }

  const Context& context_;
  const Lifetime lifetime_;
};

}  // namespace

std::unique_ptr<Component> make_host_actions(const Context& context) { return std::make_unique<HostActions>(context); }

}  // namespace dlaunch::launcher
