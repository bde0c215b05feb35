// One node's connection, shared by the launcher and the thread that copies its bytes: a socket pair, and the reason of
// its end. Threads that call the functions:
// - the launcher: connection, taken, reason
// - AgentGroup: add_error_text, expect_reason, end_soon, close_thread_end
// - the launcher or AgentGroup, before the pump has the connection: take_thread_end
// - AgentGroup and the pump: set_reason
// - the pump: all others
#pragma once

#include <memory>
#include <mutex>
#include <string_view>

#include "base/time.h"
#include "sys/fd.h"
#include "sys/io.h"
#include "transport/ssh/pump_idle_flag.h"
#include "transport/transport.h"

namespace dlaunch::dialback {

class NodeConnection {
 public:
  NodeConnection();

  /// The launcher's end and its data for the launcher; call once.
  static transport::Connection connection(const std::shared_ptr<NodeConnection>& connection);
  bool taken() const { return !stream_; }
  /// Passes on the stderr of the command that started the agent, as far as the launcher reads it.
  void add_error_text(std::string_view bytes) const;
  /// The other end; call once.
  sys::Fd take_thread_end() { return std::move(local_); }
  /// Alternative to take_thread_end(): closes the end, which ends the launcher's stream.
  void close_thread_end();
  /// Only the first reason is kept.
  void set_reason(transport::Disconnect why);
  transport::Disconnect reason() const;

  /// true: after the end of the connection, wait up to a second for a reason from the command's stderr.
  void expect_reason(bool expected);
  bool expects_reason() const;
  /// The connection must end: by itself, or after a second.
  void end_soon();
  bool is_ending() const;

  /// For the pump: true if all bytes read have left this process.
  void set_idle(bool idle) { idle_.set(idle); }

 private:
  bool passed_on_by(Time deadline);

  sys::Fd stream_;  // the launcher's end, until connection() is called
  sys::Fd local_;
  sys::Pipe errors_;
  sys::Fd copy_;  // of the thread's end; its unread bytes are not yet passed on
  mutable std::mutex mutex_;
  transport::ssh::PumpIdleFlag idle_{mutex_};
  transport::Disconnect disconnect_;  // guarded by the mutex
  bool expects_reason_ = false;       // guarded by the mutex, too
  bool ends_soon_ = false;
};

}  // namespace dlaunch::dialback
