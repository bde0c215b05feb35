#include "cli/srun/srun.h"

#include <algorithm>

#include "allocate/slurm.h"
#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/launcher_job.h"
#include "cli/mpirun/translate.h"
#include "cli/values.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

/// srun's -t: "M", "M:S", "H:M:S", "D-H", "D-H:M", "D-H:M:S". 0 is no limit.
Result<long> seconds_of(const ParsedOption& given) {
  constexpr long kMost = 1'000'000'000;
  constexpr long kMinute = 60;
  constexpr long kHour = 3600;
  constexpr long kDay = 86400;
  const size_t dash = given.value.find('-');
  const bool days = dash != std::string::npos;
  const auto no_time = [&] { return refuse_value(given, "is no time", "write minutes, H:M:S or D-H:M:S"); };
  std::vector<long> parts;
  for (const std::string& part : split(string_view(given.value).substr(days ? dash + 1 : 0), ':')) {
    const auto number = parse_int(part, 0, kMost);
    if (!number) return no_time();
    parts.push_back(*number);
  }
  const auto day = days ? parse_int(string_view(given.value).substr(0, dash), 0, kMost / kDay) : std::optional(0L);
  if (parts.size() > 3 || !day) return no_time();
  const auto part = [&](size_t at) { return at < parts.size() ? parts[at] : 0; };
  if (days) return *day * kDay + part(0) * kHour + part(1) * kMinute + part(2);
  if (parts.size() == 3) return part(0) * kHour + part(1) * kMinute + part(2);
  return part(0) * kMinute + part(1);
}

class SrunJob {
 public:
  explicit SrunJob(LauncherJob& job) : job_(job), line_(job.line()) {}

  Result<void> make() {
    TRY(check_job());
    TRY(judge_queue());
    TRY(add_srun_layout(job_));
    TRY(add_srun_binding(job_));
    TRY(add_environment());
    TRY(add_ending());
    TRY(add_mpi());
    return add_program();
  }

 private:
  const std::vector<std::string>& environment() const { return job_.context().environment; }

  Result<void> check_job() {
    const ParsedOption* id = line_.find("jobid");
    if (!id) return {};
    for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID"}) {
      if (filled_variable(environment(), name) == id->value) return {};
    }
    return refuse_option(*id, "is not the job that this is", "dlaunch starts ranks in its own job alone",
                         "start it in that job: srun --jobid=" + id->value + " --overlap -n1 dlaunch --as srun …");
  }

  /// What only an allocation of its own could heed.
  Result<void> judge_queue() {
    std::string names;
    for (const LauncherOption& option : srun_launcher().options) {
      const ParsedOption* given = line_.find(option.row.name());
      if (!given || option.support != Support::allocation) continue;
      if (!allocate::slurm_job(environment())) {
        return refuse_option(*given, "dlaunch takes no nodes from Slurm", "",
                             "run it inside salloc or sbatch with these options, or leave them out");
      }
      names += (names.empty() ? "" : ", ") + given->spelled;
    }
    if (!names.empty()) job_.note(names + " changes nothing here: the allocation is there already");
    return {};
  }

  /// --export. What is set here wins over a value that is given beside ALL.
  Result<void> add_environment() {
    if (const ParsedOption* name = line_.find("job-name")) job_.add_variable(*name, "SLURM_JOB_NAME", name->value);
    const ParsedOption* given = line_.find("export");
    if (!given) return {};
    const auto words = split(given->value, ',');
    const auto has = [&](string_view word) { return std::ranges::find(words, word) != words.end(); };
    const bool all = has("ALL");
    const bool none = has("NONE") || has("NIL");
    if (none && words.size() > 1) return refuse_value(*given, "names variables beside NONE", "leave one of them out");
    if (!all) {
      job_.add(*given, "no-env");
      job_.add(*given, "x", "SLURM_*");
    }
    for (const std::string& word : words) {
      if (word == "ALL" || none || word.empty()) continue;
      const bool is_set = variable(environment(), word.substr(0, word.find('='))).has_value();
      if (!is_set && word.find('=') == std::string::npos) continue;
      if (all && is_set) continue;
      job_.add(*given, "x", is_set && all ? word.substr(0, word.find('=')) : word);
    }
    return {};
  }

  Result<void> add_ending() {
    if (const ParsedOption* kill = line_.find("kill-on-bad-exit")) {
      const int on = TRY(number_of(*kill, 0, 1));
      if (on == 1) job_.add(*kill, "on-failure", "abort");
    }
    if (const ParsedOption* limit = line_.find("time")) {
      const long seconds = TRY(seconds_of(*limit));
      job_.add(*limit, "timeout", std::to_string(seconds));
    }
    const ParsedOption* wait = line_.find("wait");
    if (!wait) return {};
    const int seconds = TRY(number_of(*wait, 0, kMaxRanks));
    if (seconds > 0) job_.add(*wait, "wait-after-first", wait->value);
    return {};
  }

  Result<void> add_mpi() {
    const ParsedOption* given = line_.find("mpi");
    if (!given) return {};
    if (given->value.starts_with("pmix")) return job_.add(*given, "mpi", "pmix"), Result<void>();
    if (given->value == "pmi2" || given->value == "none") return job_.add(*given, "mpi", given->value), Result<void>();
    return refuse_value(*given, "is no way to serve MPI here", "write pmix, pmi2 or none, or leave it out");
  }

  Result<void> add_program() {
    std::vector<std::string> argv = line_.program;
    if (argv.empty()) {
      return fail({.where = "srun", .what = "no program was named", .why = "", .hint = "it stands behind the options"});
    }
    if (std::ranges::find(argv, ":") != argv.end()) {
      return fail(
          {.where = ":",
           .what = "starts several programs, each on nodes or a group of its own",
           .why = "",
           .hint = "start one srun for each, with -w or --het-group=N, or dlaunch A : B with -H for each program"});
    }
    if (line_.find("multi-prog")) argv = TRY(srun_multi_prog(job_, argv));
    TRY(add_srun_gpus(job_, argv));
    TRY(add_srun_streams(job_, argv));
    return job_.set_program(std::move(argv));
  }

  LauncherJob& job_;
  const LauncherLine& line_;
};

}  // namespace

Result<void> make_srun_job(LauncherJob& job) { return SrunJob(job).make(); }

}  // namespace dlaunch::cli
