// Whether the launcher is alive: sends heartbeats, and keeps the agent's lease (link/heartbeat.h). Owned by the Agent;
// loop and link must outlive this object.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agent/task.h"
#include "base/time.h"
#include "link/heartbeat.h"
#include "link/link.h"

namespace dlaunch::agent {

class LauncherWatch final : public Task {
 public:
  struct Handlers {
    std::function<void()> beat;  ///< at each heartbeat
    /// The launcher is lost; `level` is that of wire::Log.
    std::function<void(const std::string& why, std::uint8_t level)> lost;
  };
  LauncherWatch(asio::io_context& io, link::Link& link, Handlers handlers);

  /// Waits for Setup.
  void start();
  /// Setup came: the lease begins.
  void begin(const wire::Setup& setup);
  bool begun() const { return lease_.has_value(); }
  /// A message of the launcher came. Call before its task handles the message.
  void heard();
  /// The message is handled, and may have changed the lease.
  void handled();
  std::optional<std::string> on(wire::Message& message) override;

  /// Whether the launcher sent no message since that time, and did not announce the silence.
  bool silent_since(Time then) const { return lease_->silent_since(then); }
  /// Whether ranks may start now. If the lease or the link has ended, a rank that starts now could run at the same time
  /// as its replacement on another host.
  bool may_start();
  /// The rest of the grace period of a lost launcher. The period counts from the end of the lease: after that and KILL,
  /// the ranks may run on another host. The host may have been frozen until now.
  std::chrono::milliseconds left_of(std::chrono::milliseconds grace) const;

  /// Clean was sent: sends nothing more, and stops the loop at the end of the link.
  void finish() { finishing_ = true; }
  /// The launcher is lost: waits for nothing more.
  void give_up();

 private:
  void beat();
  void watch_lease();
  void judge();

  asio::io_context& io_;
  link::Link& link_;
  const Handlers handlers_;
  asio::steady_timer timer_;
  asio::steady_timer lease_timer_;
  std::chrono::milliseconds heartbeat_{0};
  std::optional<link::Lease> lease_;  // since Setup
  bool finishing_ = false;
  bool stopped_ = false;
};

}  // namespace dlaunch::agent
