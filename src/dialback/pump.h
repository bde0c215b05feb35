// Copies the bytes of nodes' links between sealed connections and sockets of the launcher: one thread for all nodes.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dialback/carrier.h"
#include "dialback/sealed_socket.h"
#include "sys/fd.h"
#include "sys/io.h"
#include "sys/pump_idle_flag.h"
#include "sys/thread.h"
#include "transport/transport.h"

namespace dlaunch::dialback {

// One node's connection, shared by the launcher and the thread that copies its bytes: a socket pair, and the reason of
// its end. Threads that call the functions:
// - the launcher: connection, taken, reason
// - AgentGroup: add_error_text, expect_reason, end_soon, close_thread_end
// - the launcher or AgentGroup, before the pump has the connection: take_thread_end
// - AgentGroup and the pump: set_reason
// - the pump: all others

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
  /// Closes the end, instead of take_thread_end(): the launcher's stream then ends.
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
  sys::PumpIdleFlag idle_{mutex_};
  transport::Disconnect disconnect_;  // guarded by the mutex
  bool expects_reason_ = false;       // guarded by the mutex, too
  bool ends_soon_ = false;
};

/// Shared with its thread, which may outlive all other owners.
class Pump {
 public:
  Pump();
  ~Pump();
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  /// The function of the thread.
  void run();
  /// Adds a connection.
  void add(SealedSocket socket, std::shared_ptr<NodeConnection> connection);
  /// Makes the thread check the connections again.
  void wake() const;
  /// Sends the job's exit code to all connected nodes, and ends the thread.
  void finish(int exit_code);
  /// Ends the thread. Nodes without a result treat the launcher as lost.
  void stop();

 private:
  struct Carried;

  static void take_record(NodeConnection& connection, const SealedRecord& record);
  /// Returns false if the thread must end.
  bool take_orders();
  void turn(Carried& each, const pollfd* polled);
  void finish_if_over(Carried& each);
  void send_outcome(int exit_code);
  std::chrono::milliseconds until_next_check() const;

  sys::Fd order_;
  sys::Fd orders_;
  std::vector<std::unique_ptr<Carried>> carried_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Carried>> added_;  // guarded by the mutex, like the following members
  std::optional<int> outcome_;
  bool stopped_ = false;
};

/// A pump and its thread.
class PumpThread {
 public:
  ~PumpThread() { stop(); }

  Pump* operator->() const { return pump_.get(); }
  const std::shared_ptr<Pump>& shared() const { return pump_; }
  /// Throws std::system_error if the thread cannot be created.
  void start();
  /// Like Pump::finish() and Pump::stop(); waits, for a bounded time, until the thread has ended.
  void finish(int exit_code);
  void stop();

 private:
  std::shared_ptr<Pump> pump_ = std::make_shared<Pump>();
  sys::Thread thread_;
};

}  // namespace dlaunch::dialback
