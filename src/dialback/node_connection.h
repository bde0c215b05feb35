// One node's connection, as the launcher and the thread that carries its bytes both know it: a socket pair, and why it
// ended. Called by the launcher's thread: connection, taken, reason. By AgentGroup's: say_error, expect_reason,
// end_soon, close_thread_end. By either, before the pump has it: take_thread_end. By AgentGroup's and the pump's:
// set_reason. By the pump's: the rest.
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

  /// The launcher's end, with what the launcher needs to know of it; once.
  static transport::Connection connection(const std::shared_ptr<NodeConnection>& connection);
  bool taken() const { return !stream_; }
  /// Passes on what the command that leads there wrote to its stderr, as far as the launcher takes it.
  void say_error(std::string_view bytes) const;
  /// The other end; once.
  sys::Fd take_thread_end() { return std::move(local_); }
  /// Instead of that: closes it, which ends the launcher's.
  void close_thread_end();
  /// The first reason holds.
  void set_reason(transport::Disconnect why);
  transport::Disconnect reason() const;

  /// When its connection ends, the command that leads there may yet say why, within a second.
  void expect_reason(bool expected);
  bool expects_reason() const;
  /// Its connection is to end now, by itself or after a second.
  void end_soon();
  bool is_ending() const;

  /// Of the thread: all that it read has left this process.
  void set_idle(bool idle) { idle_.set(idle); }

 private:
  bool passed_on_by(Time deadline);

  sys::Fd stream_;  // the launcher's end, until it is asked for
  sys::Fd local_;
  sys::Pipe errors_;
  sys::Fd copy_;  // of the thread's end: what is in it has not been passed on
  mutable std::mutex mutex_;
  transport::ssh::PumpIdleFlag idle_{mutex_};
  transport::Disconnect disconnect_;  // guarded by the mutex
  bool expects_reason_ = false;       // and so are these
  bool ends_soon_ = false;
};

}  // namespace dlaunch::dialback
