#include "app/console_listener.h"

#include "base/text.h"

namespace dlaunch::app {
namespace {

report::JobStatus status_of(const job::Progress& progress) {
  report::JobStatus status;
  const bool asked = progress.ranks == 0 && progress.missing_hosts.empty();  // hosts are queried before the job starts
  if (!asked && (progress.phase == job::Phase::starting ||
                 (progress.phase == job::Phase::running && progress.started < progress.ranks))) {
    status.phase = report::JobStatus::Phase::starting;
  } else if (progress.phase == job::Phase::ending) {
    status.phase = report::JobStatus::Phase::ending;
  }
  const bool works = progress.typed && !progress.reached;  // a person who types does not wait
  status.live = works ? 0 : progress.live;
  status.since = progress.started_at;
  status.bytes = progress.bytes;
  status.bars = progress.bars;
  status.disk_waits = progress.disk_waits;
  status.reached = progress.reached;
  status.started = progress.started;
  status.total = progress.ranks;
  status.round = progress.round;
  status.start_at = progress.start_at;
  status.missing = fold_names(progress.missing_hosts);
  status.waiting = progress.running;
  status.worlds = progress.worlds;
  status.signal = progress.signal;
  status.kill_at = progress.kill_at;
  return status;
}

}  // namespace

void ConsoleListener::of_plan(const plan::Plan& plan) {
  if (!plan.remarks.empty()) remark_ = plan.remarks.front();
  hosts_ = static_cast<int>(plan.hosts.size());
}

void ConsoleListener::progress(const job::Progress& progress) {
  report::JobStatus status = status_of(progress);
  status.remark = remark_;
  status.hosts = hosts_;
  status_.update(status, Clock::now());
  status_.tick(Clock::now());
}

}  // namespace dlaunch::app
