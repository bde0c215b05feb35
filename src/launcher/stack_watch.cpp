#include "launcher/stack_watch.h"

#include <spdlog/logger.h>

#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "launcher/frames.h"
#include "output/file_layout.h"
#include "report/lines.h"
#include "sys/clock.h"

namespace dlaunch::launcher {
namespace {

constexpr PictureLimits kBeforeEnd{std::chrono::milliseconds(400), std::chrono::milliseconds(1500)};
static_assert(kBeforeEnd.first + kBeforeEnd.second < job::kStacksWait);

/// The path prefix of stack files: next to the ranks' output files, else next to the record.
std::string stacks_base(const plan::Plan& plan, const JobOptions& options) {
  if (options.output.files) {
    const std::vector<output::RankFacts> facts = rank_facts(plan);
    return facts.empty() ? "" : output::stacks_base(*options.output.files, facts.front());
  }
  return options.report_file.empty() ? "" : options.report_file + ".stacks.";
}

}  // namespace

StackWatch::StackWatch(asio::io_context& io, Parts parts)
    : io_(io),
      parts_(std::move(parts)),
      sampling_(io, parts_.hosts, parts_.plan),
      files_(stacks_base(parts_.plan, parts_.options)) {
  const auto window = parts_.options.policy.hang_after;
  if (window.count() > 0) hangs_.emplace(window, Clock::now());
}

void StackWatch::poll(std::uint64_t fed, bool reader_awaited) {
  if (!hangs_) return;
  const Time now = Clock::now();
  const bool runs = may_be_ended() && !parts_.job.ranks_ended();
  const bool wrote = std::exchange(fed_, fed) != fed;
  const std::uint64_t changes = parts_.progress.changes();
  const bool advanced = std::exchange(changes_, changes) != changes;
  const bool has_progress = parts_.progress.all().has_value();
  if ((has_progress ? advanced : wrote) || reader_awaited || !runs) {
    hangs_->active(now);
  } else if (wrote) {
    hangs_->wrote_without_progress(now);
  }
  if (!hangs_->due(now, sys::suspended()) || judging_) return;
  judging_ = true;
  sampling_.begin(parts_.job.running(), StackSampling::Depth::cheap, PictureLimits().second,
                  [this](const StackSnapshot& sample) { judge(sample); });
}

void StackWatch::judge(const StackSnapshot& sample) {
  judging_ = false;
  if (!may_be_ended()) return;
  const job::Verdict verdict = hangs_->evaluate(rank_samples(sample), parts_.job.running(), Clock::now());
  if (verdict.kind != job::Verdict::Kind::nothing) report_silence(verdict);
}

void StackWatch::report_silence(const job::Verdict& verdict) {
  take(PictureLimits(), [this, verdict](const StackSnapshot& before, const StackSnapshot& now) {
    if (!may_be_ended()) return;
    const bool hangs = verdict.kind == job::Verdict::Kind::hangs;
    const std::string silence = report::duration_text(parts_.options.policy.hang_after);
    const bool may_speak = !hangs && parts_.progress.all();
    const std::string what = (may_speak ? "no rank's progress has changed for " : "no rank has written for ") +
                             silence +
                             (hangs ? " and no rank makes progress" : ": " + doing_text(verdict, parts_.plan.worlds));
    report::StackReport seen = picture(before, now, what);
    const std::string path = keep(now);
    seen.last = all_threads(path);
    if (hangs && parts_.options.policy.on_hang == job::OnHang::report) {
      seen.last += "; to stop a hanging job, set --on-hang end";
    } else if (hangs && path.empty()) {  // the job ends soon, so `dlaunch stacks` would come too late
      seen.last = "set --output-filename DIR or --report FILE to write the stacks of all threads to a file";
    }
    parts_.log.error(report::stacks_text(seen));
    parts_.happened(job::Hung{.everyone = hangs,
                              .detail = hangs ? "no rank wrote or made progress for " + silence : what,
                              .time_ns = sys::wall_ns(),
                              .file = path});
  });
}

void StackWatch::show() {
  if (parts_.job.running().empty()) return parts_.log.error(message("", "no stacks: no rank is running"));
  if (std::exchange(showing_, true)) return;
  take(PictureLimits(), [this](const StackSnapshot& before, const StackSnapshot& now) {
    showing_ = false;
    report::StackReport seen = picture(before, now, "job " + parts_.plan.job_id);
    seen.last = all_threads(keep(now));
    parts_.log.error(report::stacks_text(seen));
  });
}

std::string StackWatch::all_threads(const std::string& path) const {
  return "all threads: " + (path.empty() ? "dlaunch stacks --all " + parts_.plan.job_id : path);
}

void StackWatch::take_before_end(const std::string& why) {
  take(kBeforeEnd, [this, why](const StackSnapshot& before, const StackSnapshot& now) {
    report::StackReport seen = picture(before, now, why);
    const bool seen_any = !seen.ranks.empty() || !seen.silent_hosts.empty();
    if (parts_.job.phase() == job::Phase::running && seen_any) {
      const std::string path = keep(now);
      if (!path.empty()) seen.last = "all threads: " + path;
      parts_.log.error(report::stacks_text(seen));
    }
    parts_.happened(job::StacksTaken{});
  });
}

void StackWatch::ask(bool whole, std::function<void(std::string)> answer) {
  take(PictureLimits(),
       [this, whole, answer = std::move(answer)](const StackSnapshot& before, const StackSnapshot& now) {
         report::StackReport seen = picture(before, now, "job " + parts_.plan.job_id);
         if (!whole) seen.last = "all threads: dlaunch stacks --all " + parts_.plan.job_id;
         answer(report::stacks_text(seen) + (whole ? whole_stacks(now, parts_.plan) : ""));
       });
}

/// Takes two samples; the second sample has full depth.
void StackWatch::take(PictureLimits limits, std::function<void(const StackSnapshot&, const StackSnapshot&)> done) {
  const auto shot = shots_.emplace(shots_.end(), io_, limits);
  shot->done = std::move(done);
  shot->timer.expires_after(kBetween);
  sampling_.begin(parts_.job.running(), StackSampling::Depth::cheap, limits.first, [this, shot](StackSnapshot sample) {
    shot->before = std::move(sample);
    shot->timer.async_wait(lifetime_.guard([this, shot](asio::error_code error) {
      if (!error) take_second(shot);
    }));
  });
}

void StackWatch::take_second(std::list<Shot>::iterator shot) {
  sampling_.begin(parts_.job.running(), StackSampling::Depth::whole, shot->limits.second,
                  [this, shot](const StackSnapshot& sample) {
                    const auto done = std::move(shot->done);
                    const StackSnapshot before = std::move(shot->before);
                    shots_.erase(shot);
                    done(before, sample);
                  });
}

report::StackReport StackWatch::picture(const StackSnapshot& before, const StackSnapshot& now,
                                        const std::string& title) const {
  report::StackReport seen;
  fill_picture(now, before, parts_.plan, seen);
  for (report::RankStack& rank : seen.ranks) rank.progress = parts_.progress.of(rank.rank);
  seen.title = title + "; stacks of " + count(seen.ranks.size(), "rank") + " (main thread):";
  return seen;
}

/// While ranks save their state before a preemption, a hang does not end them.
bool StackWatch::may_be_ended() const { return parts_.job.phase() == job::Phase::running && !parts_.job.saves(); }

std::string StackWatch::keep(const StackSnapshot& sample) { return files_.write(whole_stacks(sample, parts_.plan)); }

}  // namespace dlaunch::launcher
