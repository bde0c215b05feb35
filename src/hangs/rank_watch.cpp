#include "hangs/rank_watch.h"

#include <spdlog/logger.h>

#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "base/lifetime.h"
#include "base/printable.h"
#include "base/text.h"
#include "hangs/progress_watch.h"
#include "hangs/rank_stacks.h"
#include "hangs/stacks_server.h"
#include "job/hangs.h"
#include "launcher/frames.h"
#include "launcher/waits.h"
#include "output/file_layout.h"
#include "report/lines.h"
#include "report/record_file.h"
#include "report/stack_groups.h"
#include "sys/clock.h"

namespace dlaunch::hangs {
namespace {

/// Time limits of the two samples of a stack report.
struct PictureLimits {
  std::chrono::milliseconds first{2000};
  std::chrono::milliseconds second{5000};
};
/// Minimum time between the two samples; their difference shows the CPU use.
constexpr std::chrono::milliseconds kBetween{300};
constexpr PictureLimits kBeforeEnd{std::chrono::milliseconds(400), std::chrono::milliseconds(1500)};
/// For the file with the stacks of all threads.
constexpr std::chrono::seconds kFileWait{1};
constexpr std::chrono::milliseconds kLeastFileWait{50};
static_assert(kBeforeEnd.first + kBeforeEnd.second + kLeastFileWait < job::kStacksWait);

/// The path prefix of stack files: next to the ranks' output files, else next to the record.
std::string stacks_base(const plan::Plan& plan, const JobOptions& options) {
  const std::vector<output::RankFacts> facts = launcher::rank_facts(plan);
  if (facts.empty()) return {};
  const auto& files = options.output.files;
  if (std::string base = files ? output::stacks_base(*files, facts.front()) : ""; !base.empty()) return base;
  const bool is_device = options.report_file.starts_with("/dev/");  // such as a pipe of the parent process
  return options.report_file.empty() || is_device ? "" : output::record_stacks_base(options.report_file, facts.front());
}
constexpr int kTicksToStacksServer = 5;  // a shorter job needs no stacks server

class RankWatch final : public launcher::Component {
 public:
  explicit RankWatch(const launcher::Context& context);

  void prepare(job::Job& job) override { job.show_stacks_first(); }
  bool on(int host, wire::Message& message, std::deque<sys::Fd>& fds) override;
  void host_lost(int host, const launcher::HostFailure&) override { sampling_.host_lost(host); }
  void perform(const job::Action& action) override;
  bool on_signal(int signal) override;
  void tick(job::Progress& progress) override;
  void ended(job::Outcome& outcome) override;

 private:
  struct Shot {
    Shot(asio::io_context& io, PictureLimits both) : limits(both), timer(io) {}
    const PictureLimits limits;
    asio::steady_timer timer;
    StackSnapshot before;
    std::function<void(const StackSnapshot& before, const StackSnapshot& now)> done;
  };
  void judge_silence(bool all_taken);
  void judge(const StackSnapshot& sample);
  void report_silence(const job::Verdict& verdict);
  void show();
  /// Prints a stack report before the job's end, then raises StacksTaken.
  void take_before_end(const std::string& why);
  /// Calls `answer` with a stack report; `whole`: with the stacks of all threads.
  void ask(bool whole, std::function<void(std::string text)> answer);
  void take(PictureLimits limits, std::function<void(const StackSnapshot& before, const StackSnapshot& now)> done);
  void take_second(std::list<Shot>::iterator shot);
  report::StackReport picture(const StackSnapshot& before, const StackSnapshot& now, const std::string& title) const;
  bool may_be_ended() const;
  struct Write {
    Write(asio::io_context& io, report::StacksFiles::File& its_file)
        : file(its_file), ended(io, file.fd(), launcher::Readiness::For::reading) {}
    report::StacksFiles::File& file;
    launcher::Readiness ended;
    std::optional<launcher::Deadline> late;
    std::function<void(report::StacksFiles::File*)> done;  // empty after its call
  };
  std::string all_threads(report::StacksFiles::File* file) const;
  /// Writes the stacks of all threads to a file, and calls `done` at the end of the write, or after `longest`. Null: no
  /// file is written.
  void keep(const StackSnapshot& sample, Duration longest, std::function<void(report::StacksFiles::File*)> done);
  static void await_end(Write& write);
  static void end_write(Write& write);

  const launcher::Context& context_;
  ProgressWatch progress_;
  StackSampling sampling_;
  StacksServer server_;
  int running_ticks_ = 0;
  std::optional<job::Hangs> hangs_;
  std::uint64_t fed_ = 0;
  std::uint64_t changes_ = 0;  // of the ranks' progress
  bool judging_ = false;
  bool showing_ = false;
  std::list<Shot> shots_;
  report::StacksFiles files_;
  std::list<Write> writes_;
  const Lifetime lifetime_;
};

RankWatch::RankWatch(const launcher::Context& context)
    : context_(context),
      progress_(context.plan, context.options, context.log),
      sampling_(context.io, context.hosts, context.plan),
      server_(context.io, [this](bool whole, StacksServer::Answer answer) { ask(whole, std::move(answer)); }),
      files_(stacks_base(context.plan, context.options)) {
  const auto window = context.options.policy.hang_after;
  // A program that waits for keys does not hang.
  if (window.count() > 0 && !context.options.keys) hangs_.emplace(window, Clock::now());
  if (!context.options.progress) return;
  context.output.observe([this](int number, output::Stream stream, std::string_view bytes) {
    bytes.empty() ? progress_.ended(number, stream) : progress_.fed(number, stream, bytes);
  });
}

bool RankWatch::on(int host, wire::Message& message, std::deque<sys::Fd>&) {
  auto* const stacks = std::get_if<wire::Stacks>(&message);
  if (stacks) context_.broken(host, sampling_.received(host, std::move(*stacks)));
  return stacks != nullptr;
}

void RankWatch::perform(const job::Action& action) {
  if (const auto* stacks = std::get_if<job::TakeStacks>(&action)) take_before_end(stacks->why);
}

bool RankWatch::on_signal(int signal) {
  if (signal != context_.options.stacks_on) return false;
  show();
  return true;
}

void RankWatch::tick(job::Progress& progress) {
  progress.reached = progress_.all();
  const bool all_taken = context_.output.all_taken();
  if (progress.reached) progress_.poll(context_.job.running(), all_taken);
  judge_silence(all_taken);
  if (context_.job.phase() == job::Phase::running && ++running_ticks_ == kTicksToStacksServer) {
    server_.open(context_.plan.job_id);
  }
}

void RankWatch::ended(job::Outcome& outcome) {
  for (Write& write : writes_) end_write(write);
  progress_.record(outcome.ranks);
  if (outcome.cause == job::Cause::success) progress_.succeeded();
}

/// After the first number of --progress, only a changed number resets the timer (Hangs::wrote_without_progress()).
void RankWatch::judge_silence(bool all_taken) {
  if (!hangs_) return;
  const Time now = Clock::now();
  const bool runs = may_be_ended() && !context_.job.ranks_ended();
  const std::uint64_t fed = context_.output.fed();
  const bool wrote = std::exchange(fed_, fed) != fed;
  const std::uint64_t changes = progress_.changes();
  const bool advanced = std::exchange(changes_, changes) != changes;
  const bool has_progress = progress_.all().has_value();
  if ((has_progress ? advanced : wrote) || !all_taken || !runs) {
    hangs_->active(now);
  } else if (wrote) {
    hangs_->wrote_without_progress(now);
  }
  if (!hangs_->due(now, sys::suspended()) || judging_) return;
  judging_ = true;
  sampling_.begin(context_.job.running(), StackSampling::Depth::cheap, PictureLimits().second,
                  [this](const StackSnapshot& sample) { judge(sample); });
}

void RankWatch::judge(const StackSnapshot& sample) {
  judging_ = false;
  if (!may_be_ended()) return;
  const job::Verdict verdict = hangs_->evaluate(rank_samples(sample), context_.job.running(), Clock::now());
  if (verdict.kind != job::Verdict::Kind::nothing) report_silence(verdict);
}

void RankWatch::report_silence(const job::Verdict& verdict) {
  take(PictureLimits(), [this, verdict](const StackSnapshot& before, const StackSnapshot& now) {
    if (!may_be_ended()) return;
    const bool hangs = verdict.kind == job::Verdict::Kind::hangs;
    const std::string silence = report::duration_text(context_.options.policy.hang_after);
    const bool may_speak = !hangs && progress_.all();
    const std::string what = (may_speak ? "no rank's progress has changed for " : "no rank has written for ") +
                             silence +
                             (hangs ? " and no rank makes progress" : ": " + doing_text(verdict, context_.plan.worlds));
    keep(now, kFileWait, [this, hangs, silence, what, seen = picture(before, now, what)](auto* file) mutable {
      seen.last = all_threads(file);
      if (hangs && context_.options.policy.on_hang == job::OnHang::report) {
        seen.last += "; to stop a hanging job, set --on-hang end";
      } else if (hangs && !file) {  // the job ends soon, so `dlaunch stacks` would come too late
        seen.last = "set --output-filename DIR or --report FILE to write the stacks of all threads to a file";
      }
      context_.log.error(report::stacks_text(seen));
      context_.happened(job::Hung{.everyone = hangs,
                                  .detail = hangs ? "no rank wrote or made progress for " + silence : what,
                                  .time_ns = sys::wall_ns(),
                                  .file = file ? file->written() : ""});
    });
  });
}

void RankWatch::show() {
  if (context_.job.running().empty()) return context_.log.error(message("", "no stacks: no rank is running"));
  if (std::exchange(showing_, true)) return;
  take(PictureLimits(), [this](const StackSnapshot& before, const StackSnapshot& now) {
    showing_ = false;
    keep(now, kFileWait, [this, seen = picture(before, now, "job " + context_.plan.job_id)](auto* file) mutable {
      seen.last = all_threads(file);
      context_.log.error(report::stacks_text(seen));
    });
  });
}

std::string RankWatch::all_threads(report::StacksFiles::File* file) const {
  return "all threads: " + (file ? file->describe() : "dlaunch stacks --all " + context_.plan.job_id);
}

void RankWatch::take_before_end(const std::string& why) {
  const Time until = Clock::now() + job::kStacksWait - kLeastFileWait;
  take(kBeforeEnd, [this, why, until](const StackSnapshot& before, const StackSnapshot& now) {
    report::StackReport seen = picture(before, now, why);
    const bool seen_any = !seen.ranks.empty() || !seen.silent_hosts.empty();
    if (context_.job.phase() != job::Phase::running || !seen_any) return context_.happened(job::StacksTaken{});
    const Duration longest = std::max<Duration>(until - Clock::now(), kLeastFileWait);
    keep(now, longest, [this, seen = std::move(seen)](auto* file) mutable {
      if (file) seen.last = all_threads(file);
      context_.log.error(report::stacks_text(seen));
      context_.happened(job::StacksTaken{});
    });
  });
}

void RankWatch::ask(bool whole, std::function<void(std::string)> answer) {
  take(PictureLimits(),
       [this, whole, answer = std::move(answer)](const StackSnapshot& before, const StackSnapshot& now) {
         report::StackReport seen = picture(before, now, "job " + context_.plan.job_id);
         if (!whole) seen.last = "all threads: dlaunch stacks --all " + context_.plan.job_id;
         answer(report::stacks_text(seen) + (whole ? whole_stacks(now, context_.plan) : ""));
       });
}

/// Takes two samples; the second sample has full depth.
void RankWatch::take(PictureLimits limits, std::function<void(const StackSnapshot&, const StackSnapshot&)> done) {
  const auto shot = shots_.emplace(shots_.end(), context_.io, limits);
  shot->done = std::move(done);
  shot->timer.expires_after(kBetween);
  sampling_.begin(context_.job.running(), StackSampling::Depth::cheap, limits.first,
                  [this, shot](StackSnapshot sample) {
                    shot->before = std::move(sample);
                    shot->timer.async_wait(lifetime_.guard([this, shot](asio::error_code error) {
                      if (!error) take_second(shot);
                    }));
                  });
}

void RankWatch::take_second(std::list<Shot>::iterator shot) {
  sampling_.begin(context_.job.running(), StackSampling::Depth::whole, shot->limits.second,
                  [this, shot](const StackSnapshot& sample) {
                    const auto done = std::move(shot->done);
                    const StackSnapshot before = std::move(shot->before);
                    shots_.erase(shot);
                    done(before, sample);
                  });
}

report::StackReport RankWatch::picture(const StackSnapshot& before, const StackSnapshot& now,
                                       const std::string& title) const {
  report::StackReport seen;
  fill_picture(now, before, context_.plan, seen);
  for (report::RankStack& rank : seen.ranks) rank.progress = progress_.of(rank.rank);
  seen.title = title + "; stacks of " + count(seen.ranks.size(), "rank") + " (main thread):";
  return seen;
}

/// While ranks save their state before a preemption, a hang does not end them.
bool RankWatch::may_be_ended() const { return context_.job.phase() == job::Phase::running && !context_.job.saves(); }

void RankWatch::keep(const StackSnapshot& sample, Duration longest,
                     std::function<void(report::StacksFiles::File*)> done) {
  report::StacksFiles::File* const file = files_.write(whole_stacks(sample, context_.plan));
  if (!file) return done(nullptr);
  std::erase_if(writes_, [](const Write& write) { return !write.done; });
  Write& write = writes_.emplace_back(context_.io, *file);
  write.done = std::move(done);
  write.late.emplace(context_.io, [&write] { end_write(write); });
  write.late->set(Clock::now() + longest);
  await_end(write);
}

void RankWatch::await_end(Write& write) {
  write.ended.wait([&write] { write.file.ended() ? end_write(write) : await_end(write); });
}

void RankWatch::end_write(Write& write) {
  write.late->set({});
  if (write.done) std::exchange(write.done, {})(&write.file);
}

}  // namespace

std::unique_ptr<launcher::Component> make_rank_watch(const launcher::Context& context) {
  return std::make_unique<RankWatch>(context);
}

}  // namespace dlaunch::hangs
