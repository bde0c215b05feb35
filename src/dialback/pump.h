// Carries the bytes of nodes' links between their sealed connections and sockets of the launcher: one thread for all
// nodes. A line is what the thread and the launcher both know of one node.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dialback/carrier.h"
#include "dialback/sealed_socket.h"
#include "sys/fd.h"
#include "sys/io.h"
#include "sys/thread.h"
#include "transport/ssh/idle.h"
#include "transport/transport.h"

namespace dlaunch::dialback {

class Line {
 public:
  Line();

  /// The launcher's end, with what the launcher needs to know of it; once.
  static transport::Connection connection(const std::shared_ptr<Line>& line);
  bool taken() const { return !stream_; }
  /// Passes on what the command that leads there wrote to its stderr, as far as the launcher takes it.
  void say_error(std::string_view bytes) const;
  /// The other end; once.
  sys::Fd other_end() { return std::move(local_); }
  /// Instead of that: ends the launcher's.
  void close();
  /// The first reason holds.
  void ended(transport::Disconnect why);
  transport::Disconnect why_ended() const;

  /// When its connection ends, the command that leads there may yet say why, within a second.
  void expect_reason(bool expected);
  bool expects_reason() const;
  /// Its connection is to end now, by itself or after a second.
  void end();
  bool ends() const;

  /// Of the thread: all that it read has left this process.
  void set_idle(bool idle) { idle_.set(idle); }

 private:
  bool passed_on_by(Time deadline);

  sys::Fd stream_;  // the launcher's end, until it is asked for
  sys::Fd local_;
  sys::Pipe errors_;
  sys::Fd copy_;  // of the thread's end: what is in it has not been passed on
  mutable std::mutex mutex_;
  transport::ssh::Idle idle_{mutex_};
  transport::Disconnect disconnect_;  // guarded by the mutex
  bool expects_reason_ = false;       // and so are these
  bool ends_ = false;
};

/// Shared with its thread, which may outlive all others that have it.
class Pump {
 public:
  Pump();
  ~Pump();
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  /// The function of its thread.
  void run();
  /// Carries this connection, too.
  void add(SealedSocket socket, std::shared_ptr<Line> line);
  /// Looks at its lines again.
  void wake() const;
  /// Tells every node that is still there the job's exit code, and ends the thread.
  void finish(int exit_code);
  /// Ends the thread. Nodes that heard no outcome take the launcher for lost.
  void stop();

 private:
  struct Carried;

  static void hear(Line& line, const SealedRecord& record);
  /// False when the thread is to end.
  bool take_orders();
  void turn(Carried& each, const pollfd* polled);
  void let_go(Carried& each);
  void say_outcome(int exit_code);
  std::chrono::milliseconds until_next_look() const;

  sys::Fd order_;
  sys::Fd orders_;
  std::vector<std::unique_ptr<Carried>> carried_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Carried>> added_;  // guarded by the mutex, as what follows
  std::optional<int> outcome_;
  bool stopped_ = false;
};

/// A pump, and its thread.
class PumpThread {
 public:
  ~PumpThread() { stop(); }

  Pump* operator->() const { return pump_.get(); }
  const std::shared_ptr<Pump>& shared() const { return pump_; }
  /// Throws when there is no thread to be had.
  void start();
  /// As the pump's; waits for a bounded time until the thread has ended.
  void finish(int exit_code);
  void stop();

 private:
  std::shared_ptr<Pump> pump_ = std::make_shared<Pump>();
  sys::Thread thread_;
};

}  // namespace dlaunch::dialback
