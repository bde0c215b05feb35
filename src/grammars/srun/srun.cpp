#include "grammars/srun/srun.h"

#include <algorithm>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/values.h"
#include "grammars/launcher_job.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

/// Parses srun's -t: "M", "M:S", "H:M:S", "D-", "D-H", "D-H:M" or "D-H:M:S". 0 is unlimited.
Result<long> seconds_of(const ParsedOption& given) {
  constexpr long kMost = 1'000'000'000;
  constexpr long kMinute = 60;
  constexpr long kHour = 3600;
  constexpr long kDay = 86400;
  for (const char* unlimited : {"unlimited", "infinite", "-1"}) {
    if (lower_case(given.value) == unlimited) return 0;
  }
  const size_t dash = given.value.find('-');
  const bool days = dash != std::string::npos;
  const auto invalid = [&] { return refuse_value(given, "time", "minutes, H:M:S or D-H:M:S"); };
  std::vector<long> parts;
  for (const std::string& part : split(string_view(given.value).substr(days ? dash + 1 : 0), ':')) {
    if (days && dash + 1 == given.value.size()) break;  // "1-"
    const auto number = parse_int(part, 0, kMost);
    if (!number) return invalid();
    parts.push_back(*number);
  }
  const auto day = days ? parse_int(string_view(given.value).substr(0, dash), 0, kMost / kDay) : std::optional(0L);
  if (parts.size() > 3 || !day) return invalid();
  const auto part = [&](size_t at) { return at < parts.size() ? parts[at] : 0; };
  if (days) return *day * kDay + part(0) * kHour + part(1) * kMinute + part(2);
  if (parts.size() == 3) return part(0) * kHour + part(1) * kMinute + part(2);
  return part(0) * kMinute + part(1);
}

/// Splits --export at commas outside quotes. srun removes only quotes around a whole word.
std::vector<std::string> exported_words(string_view text) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (const char c : text) {
    if (c == ',' && quote == 0) {
      words.emplace_back();
      continue;
    }
    words.back() += c;
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    }
  }
  for (std::string& word : words) {
    const bool quoted = word.size() > 1 && (word.front() == '\'' || word.front() == '"') && word.front() == word.back();
    if (quoted) word = word.substr(1, word.size() - 2);
  }
  return words;
}

class SrunJob {
 public:
  explicit SrunJob(LauncherJob& job) : job_(job), line_(job.line()) {}

  Result<void> make() {
    TRY(check_job());
    TRY(check_allocation_options());
    const bool several = line_.find("multi-prog") && !line_.program.empty();
    if (several) programs_ = TRY(read_srun_programs(job_.context(), line_.program.front()));
    ranks_ = TRY(add_srun_layout(job_, programs_.ranks.empty() ? 0 : programs_.ranks.rbegin()->first + 1));
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
    return refuse_option(*id, "not supported: ranks in another job", "",
                         "run dlaunch in the job: srun --jobid=" + id->value + " --overlap -n1 dlaunch --as srun …");
  }

  /// Options for the allocation: a note in a job, an error outside.
  Result<void> check_allocation_options() {
    std::string names;
    for (const LauncherOption& option : srun_launcher().options) {
      const ParsedOption* given = line_.find(option.row.name());
      if (!given || option.support != Support::allocation) continue;
      if (!slurm_job(job_)) {
        return refuse_without(*given, "a Slurm job", "dlaunch does not allocate nodes",
                              "run srun inside salloc or sbatch, or remove the option");
      }
      names += (names.empty() ? "" : ", ") + given->spelled;
    }
    if (names.empty()) return {};
    const bool several = names.find(',') != std::string::npos;
    job_.note(names + (several ? " change" : " changes") + " nothing here: the job already has its nodes");
    return {};
  }

  /// --export. An inherited variable of this environment overrides the value in the list. All lists pass on SLURM_* and
  /// SPANK_*.
  Result<void> add_environment() {
    if (const ParsedOption* name = line_.find("job-name")) job_.add_variable(*name, "SLURM_JOB_NAME", name->value);
    const ParsedOption* given = line_.find("export");
    if (!given) return {};
    const auto words = exported_words(given->value);
    const auto has = [&](string_view word) { return std::ranges::find(words, word, lower_case) != words.end(); };
    const bool all = has("all");
    const bool none = has("none") || has("nil");
    if (none && words.size() > 1) {
      return refuse_option(*given, "NONE conflicts with other words", "", "remove NONE or the variables");  // no values
    }
    if (!all) job_.add(*given, "no-env");
    for (const std::string& word : words) {
      if (lower_case(word) == "all" || none || word.empty()) continue;
      const bool is_set = variable(environment(), word.substr(0, word.find('='))).has_value();
      if (!is_set && word.find('=') == std::string::npos) continue;
      const bool passed = all || word.starts_with("SLURM") || word.starts_with("SPANK_");
      if (passed && is_set) continue;
      job_.add(*given, "x", word);
    }
    return {};
  }

  Result<void> add_ending() {
    if (const ParsedOption* kill = line_.find("kill-on-bad-exit")) {
      const int on = TRY(number_of(*kill, 0, kMaxRanks));
      if (on > 0) job_.add(*kill, "on-failure", "abort");
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
    return refuse_value(*given, "MPI type", "pmix, pmi2 or none");
  }

  Result<void> add_program() {
    std::vector<std::string> argv = line_.program;
    if (argv.empty()) {
      return fail({.where = "srun",
                   .what = "missing program",
                   .why = "",
                   .hint = "put the program after the options: dlaunch --as srun -n 4 ./a.out"});
    }
    if (std::ranges::find(argv, ":") != argv.end()) {
      return fail({.where = "srun",
                   .what = "not supported: several programs with ':'",
                   .why = "",
                   .hint = "start one srun per program, or use dlaunch A : B with -H for each program"});
    }
    if (line_.find("multi-prog")) argv = TRY(programs_.command(line_.program, ranks_));
    TRY(add_srun_gpus(job_, argv));
    TRY(add_srun_streams(job_, argv, ranks_));
    return job_.set_program(std::move(argv));
  }

  LauncherJob& job_;
  const LauncherLine& line_;
  SrunPrograms programs_;
  int ranks_ = 0;
};

}  // namespace

const place::ManagerJob* slurm_job(const LauncherJob& job) { return job.context().place.job_of("Slurm"); }

Result<void> make_srun_job(LauncherJob& job) { return SrunJob(job).make(); }

}  // namespace dlaunch::cli
