// The links to all hosts of a job: opens a limited number at a time, retries where that may help, and reports which
// hosts are ready and which are lost. Hosts have the numbers in which open() got them. Owned by HostSession
// (app/host_session.h); loop, transport and log must outlive it.
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
  static constexpr int kTries = 8;  ///< for an sshd that refuses us

  struct Handlers {
    std::function<void(int host, const wire::Hello& hello)> ready = [](auto&&...) {};
    /// The host is lost for good. Not called for a host that was dropped.
    std::function<void(int host, const HostFailure& loss)> lost = [](auto&&...) {};
    std::function<void(int host, wire::Message&& message, std::deque<sys::Fd>& fds)> message = [](auto&&...) {};
    bool tells_twins = false;  ///< note hosts that are listed under several names
  };

  Hosts(asio::io_context& io, transport::Transport& transport, std::string job_id, const JobOptions& settings,
        spdlog::logger& log);
  ~Hosts();

  /// Hosts that are ready or lost already are reported to new handlers at once. {} ends all calls; who is called by the
  /// handlers must do that before it goes.
  void listen(Handlers handlers);
  /// Further calls append hosts.
  void open(const std::vector<plan::Host>& hosts);
  /// Keeps these hosts, in this order and numbered anew, and drops the others.
  void keep(const std::vector<int>& hosts);

  bool empty() const { return slots_.empty(); }
  int size() const { return static_cast<int>(slots_.size()); }
  bool is_ready(int host) const;
  bool is_lost(int host) const;
  bool passes_fds(int host) const;
  /// Does nothing when the host was lost or dropped.
  void send(int host, const wire::Message& message);
  /// The same for an answer to a message of a peer (HostLink::answer).
  void answer(int host, const wire::Message& message);
  void send_to_all(const wire::Message& message);
  /// Waits for a short time until what was sent has left this process and its threads.
  void flush();
  void flush(int host);
  /// This process was stopped: only we were silent.
  void resumed();
  /// Loses a host that is of no use, as if its link had ended with this reason.
  void lose(int host, const HostFailure& loss);
  /// Another link to a host that was lost, to a new agent, which got its Setup. Null: `why` has the reason.
  std::unique_ptr<HostLink> open_again(int host, HostLink::Handlers handlers, std::string& why);
  /// What the command that leads to the host said of its end (HostLink::manager_said).
  std::string manager_said(int host) const;
  /// From now on nothing of this host is reported.
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
  void report_duplicate_hosts();
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
  std::set<std::string> reported_duplicates_;
  std::vector<std::unique_ptr<HostLink>> retired_;
};

}  // namespace dlaunch::launcher
