// Watches whether a job hangs (job/hangs.h), and shows what its ranks do: when it does, before it ends, at
// --stacks-on's signal, and when somebody asks. Owned by the launcher; everything given must outlive it.
#pragma once

#include <spdlog/fwd.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <set>
#include <string>

#include "dlaunch/job_options.h"
#include "dlaunch/plan.h"
#include "job/hangs.h"
#include "job/job.h"
#include "launcher/progress_watch.h"
#include "launcher/stack_sampling.h"
#include "report/stack_groups.h"
#include "report/stacks_file.h"

namespace dlaunch::launcher {

/// For the two looks of a picture.
struct PictureLimits {
  std::chrono::milliseconds first{2000};
  std::chrono::milliseconds second{5000};
};

class StackWatch {
 public:
  /// From the first look of a picture to the second, at least. Both tell how much CPU was used.
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

  /// To be called all the time. `fed` changes when a rank writes; `reader_awaited`: what ranks wrote is not taken. From
  /// the first number of --progress on, only a number that changes begins the silence anew
  /// (Hangs::wrote_without_progress()).
  void looked(std::uint64_t fed, bool reader_awaited);
  /// Shows what the ranks do now.
  void show();
  /// Shows what the ranks do before the job's end, then StacksTaken happens.
  void take_before_end(const std::string& why);
  /// Gives what the ranks do as text; `whole`: with the stacks of all threads.
  void ask(bool whole, std::function<void(std::string text)> answer);

  /// Returns how the agent breaks the protocol, or an empty text.
  std::string received(int host, wire::Stacks stacks) { return looks_.received(host, std::move(stacks)); }
  void host_lost(int host) { looks_.host_lost(host); }

 private:
  struct Shot {
    Shot(asio::io_context& io, PictureLimits both) : limits(both), timer(io) {}
    const PictureLimits limits;
    asio::steady_timer timer;
    StackSnapshot before;
    std::function<void(const StackSnapshot& before, const StackSnapshot& now)> done;
  };
  void judge(const StackSnapshot& look);
  void tell(const job::Verdict& verdict);
  void take(PictureLimits limits, std::function<void(const StackSnapshot& before, const StackSnapshot& now)> done);
  void take_second(std::list<Shot>::iterator shot);
  report::StackReport picture(const StackSnapshot& before, const StackSnapshot& now, const std::string& title) const;
  bool may_be_ended() const;
  std::string all_threads(const std::string& path) const;
  std::string keep(const StackSnapshot& look);

  asio::io_context& io_;
  Parts parts_;
  StackSampling looks_;
  std::optional<job::Hangs> hangs_;
  std::uint64_t fed_ = 0;
  std::uint64_t changes_ = 0;  // of the ranks' progress
  bool judging_ = false;
  bool showing_ = false;
  std::list<Shot> shots_;
  report::StacksFiles files_;
};

}  // namespace dlaunch::launcher
