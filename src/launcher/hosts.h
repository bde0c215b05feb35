// The links to all hosts of a job: opens a limited number at a time, retries if a retry can help, and reports ready and
// lost hosts. Hosts are numbered in the order of open(). Owned by HostSession (session/host_session.h); loop, transport
// and log must outlive this object.
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

#include "base/lifetime.h"
#include "base/time.h"
#include "dlaunch/host.h"
#include "dlaunch/job_options.h"
#include "launcher/host_link.h"
#include "transport/transport.h"

namespace dlaunch::launcher {

class Hosts {
 public:
  struct Handlers {
    std::function<void(int host, const wire::Hello& hello)> ready = [](auto&&...) {};
    /// The host is lost permanently. Not called for a dropped host.
    std::function<void(int host, const HostFailure& loss)> lost = [](auto&&...) {};
    std::function<void(int host, wire::Message&& message, std::deque<sys::Fd>& fds)> message = [](auto&&...) {};
    bool report_duplicates = false;  ///< note hosts that are listed under several names
  };

  Hosts(asio::io_context& io, transport::Transport& transport, std::string job_id, const JobOptions& settings,
        spdlog::logger& log);
  ~Hosts();

  /// Reports hosts that are already ready or lost to the new handlers at once. After
  /// listen({}), no handler is called. The owner of the handlers must call listen({}) before its destruction.
  void listen(Handlers handlers);
  /// Further calls append hosts.
  void open(const std::vector<plan::Host>& hosts);
  /// Keeps these hosts, renumbered in this order, and drops the others.
  void keep(const std::vector<int>& hosts);

  bool empty() const { return slots_.empty(); }
  int size() const { return static_cast<int>(slots_.size()); }
  bool is_ready(int host) const;
  bool is_lost(int host) const;
  bool passes_fds(int host) const;
  /// Whether a lost host can be swept (open_again).
  bool reconnects(int host) const { return transport_.reconnects(host_of(host)); }
  /// The clock of the host, now. Only while the host is ready.
  job::HostClock clock(int host) const;
  /// Does nothing if the host was lost or dropped.
  void send(int host, const wire::Message& message);
  /// Like send(), for an answer to a message of an agent (HostLink::answer).
  void answer(int host, const wire::Message& message);
  void send_to_all(const wire::Message& message);
  /// Sends a sign of life.
  void ping(int host);
  /// Announces that this process will be stopped; flushes.
  void pause();
  /// This process continues: sends a sign of life to all agents. Silence before this time does not count.
  void ping_all();
  /// The host has received all messages that were sent until this time.
  Time answered(int host) const;
  /// HostLink::gone_by, also for a lost host.
  Time gone_by(int host) const;
  /// Waits for a short time until all sent bytes have left this process and its threads.
  void flush();
  void flush(int host);
  /// Loses an unusable host, as if its link had ended with this reason.
  void lose(int host, const HostFailure& loss);
  /// Opens another link to a lost host, to a new agent, and sends Setup. Null on failure, with the reason in `why`.
  std::unique_ptr<HostLink> open_again(int host, HostLink::Handlers handlers, std::string& why);
  /// The termination message of the host's transport command (HostLink::manager_notice).
  transport::ReasonLine manager_notice(int host) const;
  /// Reaps the ended children of this process; as PID 1 of a container, also the orphans of other processes.
  void reap();
  /// From now on this host is not reported.
  void drop(int host);
  void close();

 private:
  const plan::Host& host_of(int host) const;
  enum class State { waiting, opening, pausing, ready, lost, dropped };
  struct Slot;

  void open_next();
  void open_one(Slot& slot);
  void set_up(HostLink& link) const;
  void opening_ended(Slot& slot, State next);
  void received(Slot& slot, wire::Message&& message, std::deque<sys::Fd>& fds);
  void greeted(Slot& slot, const wire::Hello& hello);
  void report_duplicate_hosts();
  void failed(Slot& slot, HostFailure loss);
  void retire(Slot& slot);

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
  const Lifetime lifetime_;
};

}  // namespace dlaunch::launcher
