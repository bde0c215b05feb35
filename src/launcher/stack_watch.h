// Detects hangs (job/hangs.h) and prints stack reports: for a hang, before the job's end, at --stacks-on's signal, and
// on request of `dlaunch stacks`. Owned by the Launcher; all constructor arguments must outlive this object.
#pragma once

#include <spdlog/fwd.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>

#include "base/lifetime.h"
#include "dlaunch/job_options.h"
#include "dlaunch/plan.h"
#include "job/hangs.h"
#include "job/job.h"
#include "launcher/progress_watch.h"
#include "launcher/rank_stacks.h"
#include "report/record_file.h"
#include "report/stack_groups.h"

namespace dlaunch::launcher {

/// Time limits of the two samples of a stack report.
struct PictureLimits {
  std::chrono::milliseconds first{2000};
  std::chrono::milliseconds second{5000};
};

class StackWatch {
 public:
  /// Minimum time between the two samples of a stack report; their difference shows the CPU use.
  static constexpr std::chrono::milliseconds kBetween{300};
  struct Parts {
    const plan::Plan& plan;
    const JobOptions& options;
    Hosts& hosts;
    const job::Job& job;
    const ProgressWatch& progress;
    spdlog::logger& log;
    std::function<void(const job::Event&)> happened;
  };
  StackWatch(asio::io_context& io, Parts parts);

  /// Call regularly. `fed` changes when a rank writes; `reader_awaited`: output of ranks was not taken. After the first
  /// number of --progress, only a changed number resets the timer (Hangs::wrote_without_progress()).
  void poll(std::uint64_t fed, bool reader_awaited);
  /// Prints a stack report now.
  void show();
  /// Prints a stack report before the job's end, then raises StacksTaken.
  void take_before_end(const std::string& why);
  /// Calls `answer` with a stack report; `whole`: with the stacks of all threads.
  void ask(bool whole, std::function<void(std::string text)> answer);

  /// Returns the protocol error, or an empty text.
  std::string received(int host, wire::Stacks stacks) { return sampling_.received(host, std::move(stacks)); }
  void host_lost(int host) { sampling_.host_lost(host); }

 private:
  struct Shot {
    Shot(asio::io_context& io, PictureLimits both) : limits(both), timer(io) {}
    const PictureLimits limits;
    asio::steady_timer timer;
    StackSnapshot before;
    std::function<void(const StackSnapshot& before, const StackSnapshot& now)> done;
  };
  void judge(const StackSnapshot& sample);
  void report_silence(const job::Verdict& verdict);
  void take(PictureLimits limits, std::function<void(const StackSnapshot& before, const StackSnapshot& now)> done);
  void take_second(std::list<Shot>::iterator shot);
  report::StackReport picture(const StackSnapshot& before, const StackSnapshot& now, const std::string& title) const;
  bool may_be_ended() const;
  std::string all_threads(const std::string& path) const;
  std::string keep(const StackSnapshot& sample);

  asio::io_context& io_;
  Parts parts_;
  StackSampling sampling_;
  std::optional<job::Hangs> hangs_;
  std::uint64_t fed_ = 0;
  std::uint64_t changes_ = 0;  // of the ranks' progress
  bool judging_ = false;
  bool showing_ = false;
  std::list<Shot> shots_;
  report::StacksFiles files_;
  const Lifetime lifetime_;
};

}  // namespace dlaunch::launcher
