// A real dlaunch-agent at the other end of a socket pair, controlled by the frames of the test. Collects the agent's
// messages for each rank. The test process is a subreaper: remaining processes of the agent become its children, and
// are killed after a failed test.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sys/fd.h"
#include "wire/codec.h"

namespace dlaunch::agent {

inline constexpr std::chrono::seconds kPatience{20};

std::string program(const std::string& name);  ///< a path of tests/programs

/// Calls `happened` repeatedly until it returns true. Returns false after `patience`.
bool until(const std::function<bool()>& happened, std::chrono::milliseconds patience = kPatience);
bool alive(int pid);
void sleep_ms(int milliseconds);

struct RankSeen {
  std::optional<wire::Started> started;
  std::optional<wire::SpawnFailed> refused;
  std::optional<wire::Ended> ended;
  std::string out, err;
  bool out_closed = false, err_closed = false;
  std::vector<sys::Fd> fds;
  std::uint64_t stdin_credit = 0;
  bool stdin_closed = false;
  bool done() const { return ended && out_closed && err_closed; }
};

/// Each call is for another job.
inline wire::Setup quick_setup() {
  static int jobs = 0;
  wire::Setup setup;
  setup.job_id = "test" + std::to_string(++jobs);
  setup.heartbeat_ms = 60000;
  setup.grace_ms = 5000;
  return setup;
}

inline wire::Layout quick_layout(std::uint32_t credit = 1u << 20) {
  wire::Layout layout;
  layout.credit = credit;
  layout.local_ranks = 1;
  return layout;
}

struct AgentOptions {
  wire::Setup setup = quick_setup();
  wire::Layout layout = quick_layout();
  bool send_setup = true;
  std::vector<std::string> login = {};     ///< HOME=… and similar, as set by a login on another host
  std::function<void()> before_exec = {};  ///< in the child; system calls only
};

class AgentProcess {
 public:
  using Options = AgentOptions;

  explicit AgentProcess(Options options = {});
  ~AgentProcess();
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  void send(const wire::Message& message);
  void send_bytes(std::string_view bytes);
  /// Sends a Ping that answers the newest Ping of the agent.
  void ping() { send(wire::Ping{0, newest_ping}); }
  /// Describes the program and spawns one rank of it. `change` edits the Spawn.
  void start(std::uint32_t rank, std::vector<std::string> argv,
             const std::function<void(wire::Program&, wire::Spawn&)>& change = {});

  /// Reads the agent's messages until `happened` is true. Returns false after kPatience, or at an earlier end of the
  /// link.
  bool until(const std::function<bool()>& happened);
  /// Reads the agent's messages for this time.
  void listen(std::chrono::milliseconds time);
  bool until_ended(std::uint32_t rank) {
    return until([&] { return ranks[rank].done() || ranks[rank].refused; });
  }
  /// Starts a rank of the program, waits for its end and returns its stdout.
  std::string run(std::vector<std::string> argv, const std::function<void(wire::Program&, wire::Spawn&)>& change = {});

  void close_link() { link_.reset(); }
  int guardian() const { return guardian_; }
  int worker() const { return static_cast<int>(hello->pid); }
  /// Waits for the guardian's end. Returns its exit code, 128+signal, or -1 after a timeout.
  int wait_exit();
  /// Waits until the test process has no descendants.
  static bool nothing_left();

  std::optional<wire::Hello> hello;
  std::optional<wire::Clean> clean;
  std::vector<wire::TerminationNotice> told_to_end;
  std::vector<wire::HostInfo> facts;
  std::vector<wire::CommandResults> told;
  std::vector<wire::Stacks> stacks;
  std::vector<wire::Log> logs;
  std::vector<wire::Prepared> prepared;
  std::uint64_t stage_credit = 0;
  std::uint64_t newest_ping = 0;  ///< number of the agent's newest Ping
  std::map<std::uint32_t, RankSeen> ranks;
  std::map<std::uint32_t, std::uint32_t> largest_output;
  bool link_ended = false;

 private:
  bool read_some(std::chrono::milliseconds wait);
  void take(wire::Message&& message);

  sys::Fd link_;
  int guardian_ = 0;
  std::optional<int> exit_;
  wire::Decoder decoder_;
  std::vector<sys::Fd> fds_;
  std::uint32_t apps_ = 0;
};

}  // namespace dlaunch::agent
