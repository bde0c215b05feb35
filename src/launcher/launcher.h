// Runs one round of a planned job (job/rounds.h): turns events on links, signals and clocks into events for Job, and
// performs the resulting actions. All decisions are made in Job; all features are components (component.h). Created by
// JobRun, one for each round. One thread; all constructor arguments must outlive this object.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/lifetime.h"
#include "dlaunch/error.h"
#include "dlaunch/job_options.h"
#include "dlaunch/listener.h"
#include "dlaunch/plan.h"
#include "job/job.h"
#include "launcher/component.h"
#include "launcher/hosts.h"
#include "launcher/rank_messages.h"
#include "launcher/round_output.h"
#include "launcher/start_files.h"
#include "launcher/waits.h"
#include "link/signals.h"
#include "output/output.h"
#include "plan/spawn_plan.h"
#include "sys/reserved_ports.h"

namespace dlaunch::launcher {

class Launcher {
 public:
  struct Parts {
    plan::RoundPlan& plan;  ///< spawned ranks are added
    const JobOptions& options;
    output::Output& output;
    Hosts& hosts;               ///< numbered as in the plan; if empty, the plan's hosts are opened
    sys::ReservedPorts& ports;  ///< released before the first rank starts
    link::Signals& signals;     ///< the job's signals: sys::kJobSignals and JobOptions::stacks_on
    Listener& listener;         ///< receives progress, and the start of all ranks
    spdlog::logger& log;
    MakeComponents make_components;
    Round round = {};
    std::map<int, std::string>* error_texts =
        nullptr;  ///< receives the error texts of failed ranks, for at most kMostErrorTexts ranks
  };
  static constexpr size_t kMostErrorTexts = 64;

  Launcher(asio::io_context& io, const Parts& parts);
  /// Hosts and signals outlive this object, and call no handler of this object any more.
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  /// Runs the round. Returns when all parts of the round have ended and every byte of output was taken or refused.
  /// Closes the hosts, unless the outcome allows a restart.
  job::Outcome run();
  /// Call after run() if another round may follow: runs the handlers that are ready in the loop; afterwards this object
  /// may be destroyed. Returns the outcome, updated with events since run(): a signal that ends the job, or a host that
  /// is lost to the next round. Later events wait for the next object.
  const job::Outcome& settle();

  /// The failure to write output that did not end the job; already reported.
  const std::optional<Error>& output_lost() const { return output_.lost(); }

  /// Call after run(): waits until a reader has taken the lines printed since then. Waits as long as run(), but at most
  /// 1 s if the job did not wait for its reader. Drops the remaining lines.
  void write_out() { output_.write_out(); }

  /// Call after run(): calls step() until it returns -1, and waits on the loop before the next call until the
  /// descriptor that it returned is readable; for at most `longest`. A signal that ends jobs shortens this wait and
  /// later waits: two of them take at most kHurriedFilesWait.
  void await(const std::function<int()>& step, Duration longest) { wait_.run(step, longest); }

 private:
  // ---- hosts ----
  void listen();
  bool is_spare(int host) const;
  void reached(int host);
  void ready(int host);
  void lost(int host, const HostFailure& loss);

  // ---- messages of agents ----
  void received(int host, wire::Message&& message, std::deque<sys::Fd>& fds);
  void on(int host, wire::Started& started, std::deque<sys::Fd>& fds);
  void on(int host, wire::SpawnFailed& refused, std::deque<sys::Fd>& fds);
  void on(int host, wire::OutputData& output, std::deque<sys::Fd>& fds);
  void on(int host, wire::Ended& ended, std::deque<sys::Fd>& fds);
  void on(int host, wire::HostInfo& programs, std::deque<sys::Fd>& fds);
  /// Ignores Ping, which is counted already, and late answers to queries before the job.
  template <class Other>
  void on(int, Other&, std::deque<sys::Fd>&) {}
  void ended(int host, int rank, const ExitStatus& status, std::int64_t time_ns, bool after_signal);
  void drained(int number);

  // ---- events and actions of the job ----
  void happened(const job::Event& event) { perform(job_.handle(event, Clock::now())); }
  void perform(const job::Actions& actions);
  void start_ranks(int host);

  // ---- time and signals ----
  void time_passed();
  void tick();
  void wait_signal();
  void on_signal(int signal);

  asio::io_context& io_;
  const Parts parts_;
  std::vector<output::RankFacts> facts_;
  job::Job job_;
  RoundOutput output_;
  Deadline deadline_;
  asio::steady_timer tick_timer_;
  RankOrder order_;
  const Context context_;
  StartFiles files_;
  const Components components_;
  int started_ = 0;
  LoopWait wait_;
  const Lifetime lifetime_;
};

}  // namespace dlaunch::launcher
