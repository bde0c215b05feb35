// Agents that a resource manager starts on some hosts, until each has connected to us: how they are started, the door,
// and a key that is these agents' alone. It has a thread of its own, which also hears, as long as the command runs, how
// the manager ends what it started.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dialback/callers.h"
#include "dialback/pump.h"
#include "dialback/starter.h"
#include "dialback/tell.h"
#include "dlaunch/job_options.h"
#include "sys/thread.h"
#include "transport/reason_lines.h"
#include "transport/running_commands.h"

namespace dlaunch::dialback {

class Start {
 public:
  struct Awaited {
    plan::Host host;
    std::shared_ptr<Line> line;
    bool done = false;  ///< it is in, or will not come
    bool in = false;
  };
  struct Settings {
    DialIn how;
    std::string job_id;
    Tell tell;  ///< called by the thread
    std::shared_ptr<Pump> pump;
  };

  Start(Settings settings, std::vector<Awaited> hosts);
  ~Start();

  /// Throws when there is no thread to be had.
  static void begin(const std::shared_ptr<Start>& start, sys::Thread& thread);
  /// The thread ends soon.
  void stop();
  /// The commands' processes, once the thread has ended.
  transport::RunningCommands& processes() { return processes_; }

 private:
  void run();
  Starter::Request request() const;
  PortRange allowed_ports() const;
  void call();
  bool wait();
  void hear(SealedSocket& socket, const std::string& address, const SealedRecord& record);
  void look_at_refusals();
  void look_at_end();
  void hear_errors(const std::string& host, std::string_view bytes);
  void fail_host(Awaited& host, transport::Disconnect why);
  void fail_all(const Error& error, transport::Disconnect::Retry retry);
  void fail_all(const transport::Disconnect& why);
  bool all_done() const;

  const Settings settings_;
  const std::string nonce_;
  std::vector<Awaited> hosts_;
  const std::unique_ptr<Starter> starter_;
  transport::RunningCommands processes_;
  std::optional<Callers> callers_;
  std::string key_;
  transport::ReasonLines said_;
  bool told_end_ = false;
  sys::Fd stop_;
  sys::Fd stopped_;
};

}  // namespace dlaunch::dialback
