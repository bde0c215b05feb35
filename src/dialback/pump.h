// Copies the bytes of nodes' links between sealed connections and sockets of the launcher: one thread for all nodes.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/time.h"
#include "dialback/carrier.h"
#include "dialback/node_connection.h"
#include "dialback/sealed_socket.h"
#include "sys/fd.h"
#include "sys/thread.h"

namespace dlaunch::dialback {

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
