// The launcher's side of one host's agent: connection, link, heartbeat and the agent's messages. Every wait for the
// agent has a deadline. Owned by Hosts or Sweeps; the handlers' targets must outlive this object.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/lifetime.h"
#include "base/time.h"
#include "dlaunch/job_options.h"
#include "job/events.h"
#include "launcher/bootstrap_stream.h"
#include "launcher/waits.h"
#include "link/heartbeat.h"
#include "link/link.h"
#include "sys/fd.h"
#include "transport/reason_lines.h"
#include "transport/transport.h"

namespace dlaunch::launcher {

/// ClockReadings: the offset of a host's clock, from questions to its agent. PURE: time is a parameter. Owned by
/// HostLink. Clocks drift and may be set, so old readings lose their value.
class ClockReadings {
 public:
  static constexpr size_t kKept = 8;
  static constexpr std::int64_t kDrift = 10'000;  ///< two clocks differ by one second more after this many seconds

  /// This side sent a message that the agent answers at once with its time.
  void asked(Time now) { asked_ = now; }
  bool awaits_answer() const { return asked_.has_value(); }
  /// The answer to asked(): CLOCK_REALTIME of the host in nanoseconds, any value. Ignored without a question.
  void answered(std::int64_t host_ns, Time now);
  /// The most accurate reading. Before the first reading, the error is unlimited.
  job::HostClock at(Time now) const;

 private:
  struct Reading {
    Time time;
    job::HostClock clock;
  };
  static job::HostClock aged(const Reading& reading, Time now);

  std::optional<Time> asked_;
  std::deque<Reading> readings_;  // oldest first; all agree within their errors
};

/// The clock of this machine.
job::HostClock own_clock();

/// Reads the stderr of a transport's command, so that the command never blocks on the launcher, and shows each line
/// with -v. When the host is lost, the last line becomes part of the message; a line about a termination by the batch
/// system takes precedence. Owned by a HostLink.
class ErrorTail {
 public:
  ErrorTail(asio::io_context& io, sys::Fd fd, std::function<void(const std::string& line)> on_line);
  ~ErrorTail();

  /// The reason so far (transport/reason_lines.h).
  transport::ReasonLine last_line();
  /// The command has succeeded: its lines so far are not the reason for a later failure.
  void forget();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

/// Why a host has no agent, or lost its agent.
struct HostFailure {
  std::string why;
  std::string hint = {};  ///< may be empty
  transport::Disconnect::Retry retry = transport::Disconnect::Retry::never;
  bool nothing_left = false;           ///< the batch system has ended all of the job's processes there
  transport::ReasonLine ordered = {};  ///< of the batch system, if the end was an order; else empty
};

class HostLink {
 public:
  struct Handlers {
    std::function<void(wire::Message&& message, std::deque<sys::Fd>& fds)> message;
    std::function<void(const HostFailure& loss)> lost;
    std::function<void(const std::string& text)> detail;  ///< noise and stderr of the connection, for -v
  };

  HostLink(asio::io_context& io, transport::Connection opened, const JobOptions& settings, Handlers handlers);

  bool passes_fds() const { return passes_fds_; }
  /// Messages are kept until the agent is connected.
  void send(const wire::Message& message);
  /// Sends an answer to a message of this agent or another agent. The host is lost if too many answers stay unread.
  void answer(const wire::Message& message);
  /// The descriptor to wait for (writable) until all is sent; nullopt when all is sent.
  std::optional<int> flush();
  /// Waits until all sent bytes have left this process and its threads.
  void pass_on_by(std::chrono::steady_clock::time_point deadline);
  /// Announces that this process will be stopped.
  void pause();
  /// This process continues: silence before this time does not count.
  void resumed();
  /// Sends a sign of life. The agent answers at once.
  void ping();
  /// The agent has received all messages that were sent until this time.
  Time answered() const { return pings_.newest_answered().value_or(Time::min()); }
  /// The end of all ranks of this agent if the agent receives nothing more: the end of its lease, grace, and KILL.
  Time gone_by() const;
  /// The line in which a batch system's command reports that the step was terminated; empty: no such line.
  transport::ReasonLine manager_notice();
  /// The clock of the agent's host, now.
  job::HostClock clock() const;
  void close();

 private:
  void connect(sys::Fd stream, const std::string& first);
  void received(wire::Message&& message, std::deque<sys::Fd>& fds);
  void read_clock();
  void wait_ready();
  HostFailure no_answer() const;
  void beat();
  /// Loses the host at the end of its silence.
  void watch();
  void judge();
  /// Returns false if the agent sends Pings but answers none: the link works in one direction only.
  bool pinged(const wire::Ping& ping, Time now);
  void note_lease(const wire::Message& message);
  /// The connection ended. Uses the transport's reason if there is one.
  void ended(HostFailure loss);
  /// Calls lose() soon: the last line of the connection's stderr may arrive after the end of the stream.
  void lose_soon(HostFailure loss);
  /// Reports the loss, with the last line of the connection's stderr.
  void lose(HostFailure loss);

  asio::io_context& io_;
  const bool passes_fds_;
  const std::chrono::milliseconds ready_wait_;
  std::optional<ErrorTail> errors_;
  std::optional<BootstrapStream> bootstrap_;
  std::optional<link::Link> link_;
  std::vector<wire::Message> early_;
  Deadline ready_by_;  // until the link begins
  asio::steady_timer timer_;
  asio::steady_timer silence_timer_;
  link::Heartbeat heartbeat_;
  link::Pings pings_;
  int unanswering_ = 0;  // consecutive Pings of the agent that answer no further Ping
  Time resumed_at_ = Time::min();
  // For gone_by(), in the launcher's clock.
  const std::chrono::milliseconds pause_limit_;
  const std::chrono::milliseconds grace_;
  std::chrono::milliseconds lease_;
  Time ping_received_;                       // the agent's newest Ping, or Hello
  Time lease_renewed_;                       // the latest sending time of the agent's Pings that this side has answered
  std::optional<std::uint64_t> pause_over_;  // after Pause: the answer to the Ping with this number ends its effect
  ClockReadings clock_;                      // without readings if the agent is on this machine
  // For an agent that connects to the launcher.
  std::optional<std::chrono::steady_clock::time_point> first_answer_by_;
  bool answered_ = false;
  size_t answers_ = 0;       // bytes of answers since the queue was last empty
  bool ended_ = false;       // the stream; this link waits for the last line of stderr
  bool overflowed_ = false;  // too many answers are unread: the host is about to be lost
  asio::steady_timer losing_;
  std::function<transport::Disconnect()> disconnect_;
  std::function<bool(std::chrono::steady_clock::time_point)> passed_on_by_;
  Handlers handlers_;
  Lifetime lifetime_;  // until close()
};

}  // namespace dlaunch::launcher
