// Runs one job, from opening its output to writing its record: all rounds (job/rounds.h) on the same hosts. A temporary
// in run() (session/run_job.cpp), which ends with the job; the session must outlive this object.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "dlaunch/error.h"
#include "dlaunch/job_options.h"
#include "dlaunch/listener.h"
#include "dlaunch/outcome.h"
#include "dlaunch/plan.h"
#include "dlaunch/run.h"
#include "job/rounds.h"
#include "launcher/launcher.h"
#include "link/signals.h"
#include "output/output.h"
#include "report/rank_results.h"
#include "report/record.h"
#include "report/record_file.h"
#include "report/summary.h"
#include "session/error_files.h"
#include "session/host_session.h"
#include "session/patience.h"
#include "session/round_hosts.h"
#include "sys/inherited.h"

namespace dlaunch::session {

class JobRun final : public Listener {
 public:
  /// `first`: the plan of the first round. `plan_without` implements Policy::shrink; without it, shrinking is disabled.
  JobRun(plan::Plan first, HostSession& session, PlanWithout plan_without);

  Result<job::Outcome> run();

  /// Of the current round, or of the last one.
  const plan::Plan& plan() const { return round_plan_.now(); }

 private:
  spdlog::logger& log() { return session_.log(); }
  Result<void> open_first();
  Result<void> open(const plan::Plan& plan, const sys::Wait* wait);
  void use_up_time();
  bool has_directories_in_logs() const;
  void begin_others(const launcher::RoundOutput::Begun& begun);
  void report_overwritten(const output::Output& output);
  Result<plan::Plan> plan_round();
  std::unique_ptr<launcher::Launcher> launcher();
  std::string failed_on(const job::Outcome& outcome) const;
  Result<void> make_ready(const job::Outcome& outcome, const std::string& guilty);
  Result<void> claim_records(const sys::Wait& wait);
  void record_unstarted(const Error& error, const sys::Wait& wait);
  void record_as_last(job::Outcome outcome, const Error& error);
  job::Outcome finish(launcher::Launcher& launcher, job::Outcome outcome, const std::string& told);
  void progress(const job::Progress& progress) override {
    job::Progress told = progress;
    told.round = rounds_.number();
    session_.listener().progress(told);
  }
  void all_started(const job::Outcome& outcome) override;
  /// The first round starts with the job, a later round with its ranks.
  Time round_start(const job::Outcome& outcome) const {
    return start_at_ && outcome.started_at ? *outcome.started_at : round_start_;
  }
  report::Summary summary(const job::Outcome& outcome) const;
  std::vector<report::RankResult> results(const job::Outcome& outcome) const;
  std::string record_text(const job::Outcome& outcome, std::int64_t end_ns) const;
  void write_record(job::Outcome& outcome, const std::string& cause, launcher::Launcher* launcher);

  const std::int64_t start_ns_;
  const Time start_ = Clock::now();
  HostSession& session_;
  JobOptions options_;  // of the current round
  RoundHosts hosts_;
  plan::RoundPlan round_plan_;
  job::Rounds rounds_;
  std::vector<report::RoundRecord> past_;
  std::string moves_;                // lines about the hosts of the next round
  std::vector<plan::Host> unswept_;  // hosts that earlier rounds lost and no sweep reached
  std::int64_t round_start_ns_;
  Time round_start_ = start_;
  std::optional<Time> start_at_;            // of the current round's ranks
  std::map<int, std::string> error_texts_;  // of the current round's failed ranks
  std::optional<Patience> patience_;        // after a signal, until the files are released: the message follows
  link::Signals signals_;
  report::RecordFile record_;
  report::RecordFile junit_;
  report::PidFile pid_file_;
  bool asked_records_ = false;  // for the claims of --report and --junit
  bool has_records_ = false;    // these claims succeeded
  bool begun_ = false;          // a round has changed the files of earlier jobs
  std::unique_ptr<output::Output> output_;
  std::unique_ptr<LockedErrorFiles> error_files_;
};

}  // namespace dlaunch::session
