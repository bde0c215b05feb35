#include "cli/parse.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>

#include "base/try.h"
#include "cli/arguments.h"
#include "cli/help.h"
#include "cli/mpirun/mca.h"
#include "cli/mpirun/personality.h"
#include "cli/mpirun/translate.h"
#include "cli/preferences.h"
#include "cli/resolved_options.h"
#include "cli/show_config.h"
#include "cli/subcommands.h"
#include "cli/values.h"
#include "dlaunch/hostfile.h"
#include "report/version.h"

namespace dlaunch::cli {
namespace {

using plan::AppRequest;

std::string in_line(const Group& group, const std::string& where) {
  if (group.where.empty() || where.empty()) return group.where + where;
  return group.where + ": " + where;
}

/// The per-program options of one group, on top of what `app` holds.
Result<void> apply_program_options(const Group& group, const ProcessContext& surroundings, AppRequest& app) {
  for (const ParsedOption& given : group.options) {
    if (!given.spec->per_program()) continue;
    auto set = given.spec->set_program(app, given.value, surroundings);
    if (set) continue;
    Error error = set.error();
    if (error.where.empty()) error.where = in_line(group, given.spelled);
    return fail(std::move(error));
  }
  return {};
}

Result<void> refuse_job_options(const Group& group) {
  for (const ParsedOption& given : group.options) {
    if (given.spec->per_program() || given.spec->also_later) continue;
    return fail({.where = in_line(group, given.spelled),
                 .what = "is not an option of one program",
                 .why = "it holds for the whole job",
                 .hint = "write it before the first program"});
  }
  return {};
}

/// From the groups to the programs.
class Programs {
 public:
  Programs(const ProcessContext& surroundings, const ParsedOption* app_file, Verb verb, Personality personality)
      : surroundings_(surroundings), app_file_(app_file), verb_(verb), personality_(personality) {}

  Result<std::vector<AppRequest>> read(std::vector<Group> groups) {
    TRY(apply_program_options(groups.front(), surroundings_, first_));
    for (size_t i = 1; i < groups.size(); ++i) {
      TRY(refuse_job_options(groups[i]));
    }
    if (app_file_) return read_app_file(groups);
    return read_groups(groups);
  }

  /// Of programs that have hosts of their own: a pool for each.
  std::vector<allocate::HostEntry> hosts;
  std::vector<std::string> notes;

 private:
  Result<std::vector<AppRequest>> read_groups(std::vector<Group>& groups) {
    std::vector<AppRequest> apps;
    for (size_t i = 0; i < groups.size(); ++i) {
      Group& group = groups[i];
      if (group.program.empty() && groups.size() == 1) {  // only the job's options: the caller's to judge
        if (verb_ == Verb::check) apps.push_back(first_);
        break;
      }
      auto app = TRY(i == 0 ? Result<AppRequest>(first_) : later_program(group));
      if (group.program.empty()) {
        if (group.options.empty()) continue;
        return fail({.where = in_line(group, group.options.back().spelled),
                     .what = "no program follows",
                     .why = "",
                     .hint = "name the program after its options"});
      }
      app.argv = std::move(group.program);
      apps.push_back(std::move(app));
    }
    return apps;
  }

  /// What the first program's options set holds here too, but for -n; not so for mpirun and mpiexec.
  Result<AppRequest> later_program(const Group& group) {
    AppRequest app = personality_ == Personality::dlaunch || app_file_ ? first_ : AppRequest{};
    app.ranks.reset();
    TRY(apply_program_options(group, surroundings_, app));
    TRY(add_hosts(group, app));
    return app;
  }

  Result<void> add_hosts(const Group& group, AppRequest& app) {
    for (const ParsedOption& given : group.options) {
      if (!given.spec->also_later) continue;
      auto list = allocate::parse_host_list(given.value);
      if (!list) {
        Error error = list.error();
        if (error.where.empty()) error.where = in_line(group, given.spelled);
        return fail(std::move(error));
      }
      if (app.pool == 0) app.pool = ++pools_;
      for (allocate::HostEntry& entry : *list) {
        entry.pool = app.pool;
        hosts.push_back(std::move(entry));
      }
    }
    return {};
  }

  Result<std::vector<AppRequest>> read_app_file(const std::vector<Group>& groups) {
    const auto refuse = [&](std::string what, std::string why) {
      return fail({.where = app_file_->spelled,
                   .what = std::move(what),
                   .why = std::move(why),
                   .hint = "leave one of them out"});
    };
    if (groups.size() > 1 || !groups.front().program.empty()) {
      return refuse("does not go with a program on the command line", "the file names the programs");
    }
    if (first_.ranks) return refuse("does not go with -n on the command line", "each line of the file has its own");
    auto lines = TRY(read_lines());
    for (const Group& group : lines) {
      TRY(refuse_job_options(group));
    }
    lines.insert(lines.begin(), Group{});
    auto apps = read_groups(lines);
    if (apps && apps->empty()) {
      return fail({.where = app_file_->value, .what = "names no program", .why = "", .hint = "write a program a line"});
    }
    return apps;
  }

  Result<std::vector<Group>> read_lines() {
    const auto path = absolute_path(app_file_->value, surroundings_.cwd);
    if (!path) {
      Error error = path.error();
      error.where = app_file_->spelled;
      return fail(std::move(error));
    }
    const auto text = surroundings_.read_file(*path);
    if (!text) return fail(text.error().error);
    auto groups = parse_app_file(*text, app_file_->value);
    if (!groups) return groups;
    TRY(translate_options(*groups, surroundings_, notes));
    return groups;
  }

  const ProcessContext& surroundings_;
  const ParsedOption* app_file_;
  const Verb verb_;
  const Personality personality_;
  AppRequest first_;
  int pools_ = 0;
};

/// The lists of programs join the job's own. A program without one needs that.
Result<void> join_hosts(Options& options, std::vector<allocate::HostEntry> hosts) {
  if (hosts.empty()) return {};
  const auto& apps = options.request.apps;
  const auto without = std::ranges::find(apps, 0, &AppRequest::pool);
  if (without != apps.end() && options.hosts.list.empty()) {
    return fail({.where = without->argv.front(),
                 .what = "has no -H, and another program has",
                 .why = "",
                 .hint = "give -H to each program, or to the first one for all without their own"});
  }
  std::ranges::move(hosts, std::back_inserter(options.hosts.list));
  return {};
}

/// All that the job's options say, with what was gathered on the way.
struct JobOptions {
  Options options;
  ResolvedOptions effective;
  Preferences preferences;
};

const ParsedOption* last_config(const Group& first) {
  const ParsedOption* last = nullptr;
  for (const ParsedOption& given : first.options) {
    if (given.spec->name() == "config") last = &given;
  }
  return last;
}

/// Without --exec, by what Open MPI's names for it say.
void settle_exec(Options& options) {
  if (options.exec.empty()) options.exec = rsh_command(options.rsh_agent, options.rsh_args);
}

Result<JobOptions> read_job_options(Verb verb, const Group& first, Personality personality,
                                    const ProcessContext& surroundings) {
  auto preferences = TRY(read_preferences(last_config(first), surroundings));
  JobOptions job;
  job.preferences = std::move(preferences);
  job.options.verb = verb;
  for (const ParsedOption& given : personality_defaults(personality, surroundings)) job.effective.add(given);
  for (const ParsedOption& given : job.preferences.given) job.effective.add(given);
  for (const ParsedOption& given : first.options) {
    if (!given.spec->per_program()) job.effective.add(given);
  }
  TRY(settle_contradictions(job.effective));
  TRY(job.effective.apply(job.options, surroundings));
  settle_oversubscribe(job.effective, job.options);
  TRY(check_effects(job.effective, verb, personality));
  settle_personality(personality, job.effective, job.options);
  settle_exec(job.options);
  return job;
}

Result<void> check_programs(Verb verb, const std::vector<AppRequest>& apps) {
  if (verb == Verb::run && apps.empty()) {
    return fail({.where = "", .what = "no program was named", .why = "", .hint = usage_hint()});
  }
  if (verb != Verb::hosts || apps.empty()) return {};
  return fail({.where = "hosts",
               .what = "prints the hosts and takes no program",
               .why = "",
               .hint = "a program of this name is run by: dlaunch -- hosts"});
}

std::string text_of(const OptionSpec& spec) {
  if (spec.name() == "version") return report::version_text();
  return spec.name() == "help-man" ? man_page() : help_text();
}

}  // namespace

Result<Command> parse_command_line(const std::vector<std::string>& args, const ProcessContext& surroundings) {
  const Subcommand* const subcommand = subcommand_of(args, surroundings.program_name);
  const Verb verb = subcommand ? subcommand->verb.value_or(Verb::run) : Verb::run;
  auto arguments = TRY(parse_arguments(std::span(args).subspan(verb == Verb::run ? 0 : 1)));
  if (arguments.show) return ShowText{text_of(*arguments.show)};
  std::vector<std::string> notes;
  TRY(translate_options(arguments.groups, surroundings, notes));
  const Personality personality = personality_of(surroundings.program_name, arguments.groups.front().options);
  auto job = TRY(read_job_options(verb, arguments.groups.front(), personality, surroundings));
  Programs programs(surroundings, job.effective.find("app"), verb, personality);
  auto apps = TRY(programs.read(std::move(arguments.groups)));
  if (job.effective.find("show-config")) {
    return ShowText{show_config(job.effective, job.preferences, job.options.format)};
  }
  TRY(check_programs(verb, apps));
  Options& options = job.options;
  options.request.apps = std::move(apps);
  options.notes = std::move(job.preferences.notes);
  std::ranges::move(notes, std::back_inserter(options.notes));
  std::ranges::move(programs.notes, std::back_inserter(options.notes));
  TRY(join_hosts(options, std::move(programs.hosts)));
  options.request.environment = surroundings.environment;
  options.request.cwd = surroundings.cwd;
  return std::move(options);
}

}  // namespace dlaunch::cli
