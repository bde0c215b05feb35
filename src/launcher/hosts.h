// The links to all hosts of a job: opens so many at a time, tries again where that may help, and says who is ready and
// who is lost. Hosts are numbered as they were given to open(). Owned by `main`; loop, transport and log must outlive
// it.
#pragma once

#include <spdlog/fwd.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "dlaunch/host.h"
#include "dlaunch/job_options.h"
#include "launcher/host_link.h"
#include "transport/transport.h"

namespace dlaunch::launcher {

class Hosts {
 public:
  static constexpr int kTries = 8;  ///< of an sshd that turns us away

  struct Handlers {
    std::function<void(int host, const wire::Hello& hello)> ready = [](auto&&...) {};
    /// For good. Not called for a host that was dropped.
    std::function<void(int host, const HostFailure& loss)> lost = [](auto&&...) {};
    std::function<void(int host, wire::Message&& message, std::deque<sys::Fd>& fds)> message = [](auto&&...) {};
    bool tells_twins = false;  ///< note hosts that are one under several names
  };

  Hosts(asio::io_context& io, transport::Transport& transport, std::string job_id, const JobOptions& settings,
        spdlog::logger& log);
  ~Hosts();

  /// What is ready or lost already is told to new handlers at once. {}: nobody listens any more, which who is called by
  /// the handlers must say before it goes.
  void listen(Handlers handlers);
  /// May be called again: these come behind all that there are.
  void open(const std::vector<plan::Host>& hosts);
  /// The hosts are now these of before, in this order; the others are dropped.
  void keep(const std::vector<int>& hosts);

  bool empty() const { return slots_.empty(); }
  bool passes_fds(int host) const;
  /// Nothing happens when the host was lost or dropped.
  void send(int host, const wire::Message& message);
  /// The same, of what a peer made us say (HostLink::answer).
  void answer(int host, const wire::Message& message);
  void send_to_all(const wire::Message& message);
  /// Waits, not for long, until what was sent has left this process and its threads.
  void flush();
  void flush(int host);
  /// We were stopped: silence until now was ours.
  void resumed();
  /// It is of no use: as if its link had ended so.
  void lose(int host, const HostFailure& loss);
  /// Another link to a host that was lost, to another agent, which has its Setup. Null: `why` says why not.
  std::unique_ptr<HostLink> open_again(int host, HostLink::Handlers handlers, std::string& why);
  /// Nothing is heard of it any more.
  void drop(int host);
  void close();

 private:
  enum class State { waiting, opening, pausing, ready, lost, dropped };
  struct Slot;

  void open_next();
  void open_one(Slot& slot);
  void set_up(HostLink& link) const;
  void opening_ended(Slot& slot, State next);
  void received(Slot& slot, wire::Message&& message, std::deque<sys::Fd>& fds);
  void greeted(Slot& slot, const wire::Hello& hello);
  void tell_twins();
  void failed(Slot& slot, const HostFailure& loss);
  std::optional<std::chrono::milliseconds> pause_before_next_try(const Slot& slot, const HostFailure& loss);
  void retire(std::unique_ptr<HostLink> link);

  asio::io_context& io_;
  transport::Transport& transport_;
  const std::string job_id_;
  const JobOptions& settings_;
  spdlog::logger& log_;
  Handlers handlers_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::deque<Slot*> queue_;
  int opening_ = 0;
  size_t ready_ = 0;
  std::set<std::string> told_twins_;
  std::vector<std::unique_ptr<HostLink>> retired_;
};

}  // namespace dlaunch::launcher
