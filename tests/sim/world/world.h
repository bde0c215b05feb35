// A simulated world: hosts with processes, a network, a user, a reader of the output, and faults. One queue of events
// in virtual time drives all. The launcher is the product's code on the main stack; if it waits, the world goes on
// until the launcher has something to do. The same scenario gives the same trace, byte for byte.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "scenario.h"
#include "sys/fd.h"
#include "time/virtual_time.h"
#include "transport/transport.h"
#include "world/event_queue.h"
#include "world/faults.h"
#include "world/host.h"
#include "world/network.h"
#include "world/observer.h"
#include "world/processes.h"

namespace sim {

/// The job has not ended within its bound.
struct Hang : std::runtime_error {
  using runtime_error::runtime_error;
};

class World final : public Kernel, public dlaunch::transport::Transport {
 public:
  /// `bound`: the time by which the job must have ended.
  World(const Scenario& scenario, Ns bound);
  ~World() override;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// The world that is installed.
  static World& current();

  // ---- Kernel ----
  Ns now() const override { return now_; }
  Ns wall_offset() const override;
  void wait(const std::function<bool()>& ready, std::optional<Ns> deadline) override;
  std::uint32_t random() override { return static_cast<std::uint32_t>(random_()); }
  void raised(int signal) override;
  // ---- Transport ----
  dlaunch::Result<dlaunch::transport::Connection> open(const dlaunch::plan::Host& host) override;
  void close() override {}

  // ---- for the promises ----
  const Scenario& scenario() const { return scenario_; }
  const Host& host(int number) const { return hosts_.at(static_cast<size_t>(number)); }
  Host& host(int number) { return hosts_.at(static_cast<size_t>(number)); }
  int host_count() const { return static_cast<int>(hosts_.size()); }
  Processes& processes() { return processes_; }
  const Processes& processes() const { return processes_; }
  Network& network() { return network_; }
  int round() const { return round_; }
  /// The ranks with which this round starts. Spawned ranks have the next ids.
  int ranks_at_start() const { return ranks_at_start_; }
  void observe(Observer& observer) { observers_.push_back(&observer); }
  void tell(const std::function<void(Observer&)>& what) {
    for (Observer* observer : observers_) what(*observer);
  }
  /// Bytes that ranks wrote, by rank and round, and that the reader got.
  const std::map<int, std::string>& written() const { return written_; }
  const std::string& read() const { return read_; }
  const std::string& input_taken() const { return input_taken_; }
  const std::string& typed() const { return typed_; }
  /// The user types lines for some seconds, then ends the input.
  void type_into(dlaunch::sys::Fd keyboard);
  bool launcher_there() const { return launcher_there_; }

  // ---- the launcher and its user ----
  void begin_round(int number, int ranks) {
    round_ = number;
    ranks_at_start_ = ranks;
  }
  void printed(std::string_view lines);
  /// The descriptor from which the reader reads the launcher's output.
  void set_reader(int fd) { reader_fd_ = fd; }
  void set_reading(bool reading);
  bool reading() const { return reading_; }
  void signal_launcher(int signal);
  void add_receiver(SignalReceiver* receiver) { receivers_.push_back(receiver); }
  void remove_receiver(SignalReceiver* receiver) { std::erase(receivers_, receiver); }
  /// SIGSTOP of the launcher for a time; SIGCONT follows.
  void stop_launcher(Ns length);
  void set_suspension(Ns length) { suspension_ = length; }
  bool launcher_stopped() const { return launcher_until_.has_value(); }

  // ---- events ----
  void at(Ns time, std::function<void()> run) { events_.add(time, std::move(run)); }
  /// While the host is frozen, the event waits for the thaw.
  void on_host(int host, Ns time, std::function<void()> run);
  /// The same; and the event waits while the process is stopped, and is dropped after its end.
  void on_process(int pid, Ns time, std::function<void()> run);
  void thaw(int host);
  /// The world goes on without a launcher.
  void settle(Ns time);
  /// Call before the launcher connects.
  void begin() { faults_.begin_early(); }
  void job_ended();

  Ns latency();
  Ns time_to_die();
  void say(const std::string& text);
  void trace_to(std::vector<std::string>* lines) { trace_ = lines; }
  /// Of all lines of the trace with their times in nanoseconds, also if no trace is kept.
  std::uint64_t trace_digest() const { return trace_digest_.value(); }

  // ---- called by processes and network ----
  void start_agent(Agent& agent, dlaunch::sys::Fd link);
  void worker_ended(int agent);
  void poke_agents(int host);
  void launcher_sent(Agent& agent, const std::string& bytes);
  void launcher_heard(Agent& agent, const std::string& bytes);
  void wrote(const Process& process, const std::string& text);
  void took_input(const Process& process, const std::string& bytes) {
    (void)process;
    input_taken_ += bytes;
  }

 private:
  bool step(std::optional<Ns> until);
  bool run_agents();
  std::optional<Ns> agents_deadline() const;
  void exchange();
  void type(int line);
  void read_output();

  const Scenario scenario_;
  const Ns bound_;
  Ns now_ = 0;
  std::mt19937_64 random_;
  EventQueue events_;
  std::vector<Host> hosts_;
  std::vector<Observer*> observers_;
  Network network_{*this};
  Processes processes_{*this};
  Faults faults_;
  int round_ = 0;
  int ranks_at_start_ = scenario_.all_ranks();
  bool launcher_there_ = true;
  std::optional<Ns> launcher_until_;  // stopped until then
  Ns suspension_ = 25 * kSecond;      // length of a stop after SIGTSTP
  bool launcher_poked_ = false;
  std::vector<SignalReceiver*> receivers_;
  int reader_fd_ = -1;
  bool reading_ = true;
  std::string read_;
  std::string input_taken_;
  std::string typed_;
  dlaunch::sys::Fd keyboard_;
  std::map<int, std::string> written_;
  std::vector<std::string>* trace_ = nullptr;
  dlaunch::Fnv1a trace_digest_;
};

}  // namespace sim
