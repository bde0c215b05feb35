#include "grammars/command_line.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/help.h"
#include "cli/preferences.h"
#include "cli/resolved_options.h"
#include "cli/values.h"
#include "dlaunch/hostfile.h"
#include "grammars/launcher_job.h"
#include "grammars/launchers.h"
#include "mpirun/arguments.h"
#include "mpirun/mca.h"
#include "mpirun/translate.h"
#include "report/version.h"

namespace dlaunch::cli {
namespace {

using plan::AppRequest;

constexpr std::string_view kOverrides[] = {"host",       "hostfile",       "ignore-resource-manager",
                                           "fake-hosts", "same-line",      "rank-table",
                                           "bind-to",    "rankfile",       "map-by",
                                           "cpu-list",   "cores-per-rank", "N",
                                           "rank-by",    "include",        "exclude",
                                           "nolocal",    "spares",         "restarts",
                                           "max-slots"};

/// Returns the number of ranks of all programs; `places` if a program has no number.
size_t ranks_of(const plan::Request& request, size_t places) {
  size_t ranks = 0;
  for (const plan::AppRequest& app : request.apps) {
    if (!app.ranks) return places;
    ranks += static_cast<size_t>(*app.ranks);
  }
  return ranks;
}

/// Places the ranks as the batch system says, as LSF does. Does nothing if options set the hosts, places or binding, or
/// if there are more ranks than places. `options` has the programs.
Result<void> follow_rank_places(const ResolvedOptions& effective, const ProcessContext& context, Options& options) {
  const bool overridden =
      std::ranges::any_of(kOverrides, [&](std::string_view name) { return effective.find(name) != nullptr; });
  const place::ManagerJob* const job = context.place.job();
  if (overridden || options.verb != Verb::run || !job) return {};
  auto places = TRY(job->rank_places());
  const size_t ranks = ranks_of(options.request, places.size());
  if (places.empty()) return {};
  if (ranks > places.size()) {
    options.notes.push_back("ranks are not bound: " + places[0].from + " has fewer lines than there are ranks");
    return {};
  }
  places.resize(ranks);
  options.request.rank_places = std::move(places);
  options.request.bind_by_count = false;
  return {};
}

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

/// Returns the words after the launcher's subcommand.
Result<std::span<const std::string>> after_subcommand(const LauncherSpec& launcher,
                                                      std::span<const std::string> words) {
  if (launcher.subcommand.empty() || (!words.empty() && asks_for_help(words.front()))) return words;
  if (!words.empty() && words.front() == launcher.subcommand) return words.subspan(1);
  const std::string wanted = std::string(launcher.name) + " " + std::string(launcher.subcommand);
  return fail({.where = "",
               .what = "not supported: " + std::string(launcher.name) + (words.empty() ? "" : " " + words.front()),
               .why = "dlaunch replaces only " + wanted,
               .hint = "write " + wanted + " …, or run the original launcher"});
}

/// Reads another launcher's line. dlaunch's own options before the line override the launcher's options.
Result<Arguments> read_foreign_line(const LauncherSpec& launcher, std::span<const std::string> words,
                                    const ProcessContext& context, std::vector<std::string>& notes) {
  const size_t own = own_options_before(words, launcher);
  auto arguments = TRY(parse_arguments(words.first(own), option_of_launchers));
  if (arguments.show) return arguments;
  const auto rest = TRY(after_subcommand(launcher, words.subspan(own)));
  auto foreign = TRY(read_launcher_line(launcher, rest, context.environment));
  if (foreign.show) {
    arguments.show = find_option(foreign.show->name()).spec;
    return arguments;
  }
  std::ranges::move(foreign.notes, std::back_inserter(notes));
  LauncherJob job(launcher, foreign, context, notes);
  job.add_equals();
  TRY(launcher.make(job));
  arguments.unset = job.forgotten();
  Group group = job.take();
  if (!arguments.groups.empty()) std::ranges::move(arguments.groups.front().options, std::back_inserter(group.options));
  arguments.groups = {std::move(group)};
  return arguments;
}

/// Returns the dlaunch command for the programs and the options in effect, except the user's preferences. `as`: the
/// value of --as in the command, for defaults that do not have an option; empty: no --as.
std::string equivalent_line(const ResolvedOptions& resolved, const Arguments& arguments, std::string_view as) {
  std::string text = arguments.unset.empty() ? "" : "env ";
  for (const std::string& name : arguments.unset) text += "-u " + name + " ";
  text += as.empty() ? "dlaunch" : "dlaunch --as " + std::string(as);
  const auto add = [&](const ParsedOption& given) {
    if (given.spec->section == Section::inspect || given.spec->name() == "personality") return;
    text += " " + dashed(given.spec->name());
    if (given.spec->takes == Arity::value) text += " " + shell_quote(given.value);
    if (given.spec->takes == Arity::maybe_value && !given.value.empty()) text += "=" + shell_quote(given.value);
  };
  for (const std::optional<ParsedOption>& row : resolved.rows()) {
    const bool of_line = row && (row->source == Source::command_line || row->source == Source::mca_variable ||
                                 (row->source == Source::personality && as.empty()));
    if (of_line && (row->spec->takes != Arity::nothing || row->value == "true")) add(*row);
  }
  for (const Group& group : arguments.groups) {
    const bool later = &group != &arguments.groups.front();
    if (later) text += " :";
    for (const ParsedOption& given : group.options) {
      if (given.spec->per_program() || (later && given.spec->also_later)) add(given);
    }
    for (const std::string& word : group.program) text += " " + shell_quote(word);
  }
  return text;
}

std::string in_line(const Group& group, const std::string& where) {
  if (group.where.empty() || where.empty()) return group.where + where;
  return group.where + ": " + where;
}

/// Applies the per-program options of one group to `app`.
Result<void> apply_program_options(const Group& group, const ProcessContext& context, AppRequest& app) {
  for (const ParsedOption& given : group.options) {
    if (!given.spec->per_program()) continue;
    auto set = given.spec->set_program(app, given.value, context);
    if (set) continue;
    Error error = set.error();
    if (error.where.empty()) error.where = in_line(group, given.spelled);
    return fail(std::move(error));
  }
  return {};
}

Result<void> check_templates(const std::vector<Group>& groups) {
  for (const Group& group : groups) {
    auto checked = check_typed_templates(group.options);
    if (checked) continue;
    checked.error().where = in_line(group, checked.error().where);
    return checked;
  }
  return {};
}

Result<void> refuse_job_options(const Group& group) {
  for (const ParsedOption& given : group.options) {
    if (given.spec->per_program() || given.spec->also_later) continue;
    return fail({.where = in_line(group, given.spelled),
                 .what = "invalid position",
                 .why = "the option applies to the whole job",
                 .hint = "put the option before the first program"});
  }
  return {};
}

/// Converts groups to programs.
class Programs {
 public:
  Programs(const CommandLine& line, const ProcessContext& context, const ParsedOption* app_file)
      : line_(line), context_(context), app_file_(app_file) {}

  Result<std::vector<AppRequest>> read(std::vector<Group> groups) {
    TRY(apply_program_options(groups.front(), context_, first_));
    for (size_t i = 1; i < groups.size(); ++i) {
      TRY(refuse_job_options(groups[i]));
    }
    if (app_file_) return read_app_file(groups);
    return read_groups(groups);
  }

  /// Hosts of programs with their own -H, one pool per program.
  std::vector<hosts::HostEntry> hosts;
  std::vector<std::string> notes;

 private:
  Result<std::vector<AppRequest>> read_groups(std::vector<Group>& groups) {
    std::vector<AppRequest> apps;
    for (size_t i = 0; i < groups.size(); ++i) {
      Group& group = groups[i];
      if (group.program.empty() && groups.size() == 1) {  // only options of the job: the caller checks the verb
        if (line_.verb == Verb::check) apps.push_back(first_);
        break;
      }
      auto app = TRY(i == 0 ? Result<AppRequest>(first_) : later_program(group));
      if (group.program.empty()) {
        if (group.options.empty()) continue;
        return fail({.where = group.where,
                     .what = "missing program after " + group.options.back().spelled,
                     .why = "",
                     .hint = "add the program after its options"});
      }
      app.argv = std::move(group.program);
      apps.push_back(std::move(app));
    }
    return apps;
  }

  /// In dlaunch's grammar, the options of the first program apply to later programs too, except -n.
  Result<AppRequest> later_program(const Group& group) {
    AppRequest app = line_.grammar == Grammar::dlaunch || app_file_ ? first_ : AppRequest{};
    app.ranks.reset();
    TRY(apply_program_options(group, context_, app));
    TRY(add_hosts(group, app));
    return app;
  }

  Result<void> add_hosts(const Group& group, AppRequest& app) {
    for (const ParsedOption& given : group.options) {
      if (!given.spec->also_later) continue;
      auto list = hosts::parse_host_list(given.value);
      if (!list) {
        Error error = list.error();
        if (error.where.empty()) error.where = in_line(group, given.spelled);
        return fail(std::move(error));
      }
      if (app.pool == 0) app.pool = ++pools_;
      for (hosts::HostEntry& entry : *list) {
        entry.pool = app.pool;
        hosts.push_back(std::move(entry));
      }
    }
    return {};
  }

  Result<std::vector<AppRequest>> read_app_file(const std::vector<Group>& groups) {
    if (groups.size() > 1 || !groups.front().program.empty()) {
      return fail(conflict(app_file_->spelled, "a program on the command line", "the file has the programs",
                           "remove " + app_file_->spelled + " or the program"));
    }
    if (first_.ranks) return fail(conflict(app_file_->spelled, "-n", "each line of the file has its own -n"));
    auto lines = TRY(read_lines());
    for (const Group& group : lines) {
      TRY(refuse_job_options(group));
    }
    lines.insert(lines.begin(), Group{});
    auto apps = read_groups(lines);
    if (apps && apps->empty()) {
      return fail({.where = app_file_->value,
                   .what = "missing program",
                   .why = "the file has no program",
                   .hint = "write one program per line"});
    }
    return apps;
  }

  Result<std::vector<Group>> read_lines() {
    const auto path = absolute_path(app_file_->value, context_.cwd);
    if (!path) {
      Error error = path.error();
      error.where = app_file_->spelled;
      return fail(std::move(error));
    }
    const auto text = context_.read(*path);
    if (!text) return fail(text.error().error);
    auto groups = parse_app_file(*text, app_file_->value, option_of_launchers);
    if (!groups) return groups;
    if (line_.grammar == Grammar::dlaunch) TRY(check_templates(*groups));
    TRY(translate_options(*groups, context_, notes));
    return groups;
  }

  const CommandLine& line_;
  const ProcessContext& context_;
  const ParsedOption* app_file_;
  AppRequest first_;
  int pools_ = 0;
};

/// Adds the host lists of programs to the job's list. Programs without a list require the job's list.
Result<void> join_hosts(Options& options, std::vector<hosts::HostEntry> hosts) {
  if (hosts.empty()) return {};
  const auto& apps = options.request.apps;
  const auto without = std::ranges::find(apps, 0, &AppRequest::pool);
  if (without != apps.end() && options.hosts.list.empty()) {
    return fail({.where = without->argv.front(),
                 .what = "missing -H",
                 .why = "another program has -H",
                 .hint = "add -H to each program, or before the first program"});
  }
  std::ranges::move(hosts, std::back_inserter(options.hosts.list));
  return {};
}

const ParsedOption* last_of(const Group& first, std::string_view name) {
  const ParsedOption* last = nullptr;
  for (const ParsedOption& given : first.options) {
    if (given.spec->name() == name) last = &given;
  }
  return last;
}

/// Limits the later reads of files. apply() reports a wrong value.
void limit_reads(Grammar grammar, const ParsedOption* timeout, ProcessContext& context) {
  Options options;
  if (!timeout || !timeout->spec->set_job(options, timeout->value, context)) return;
  settle_personality(grammar, {}, options);  // sets the exit code
  context.read_limit = ReadLimit::of(options.policy.timeout, options.policy.timeout_exit_code);
}

/// The job's options in effect, and the user's preferences.
struct Resolved {
  ResolvedOptions options;
  Preferences preferences;
};

Result<Resolved> resolve(Grammar grammar, const Group& first, ProcessContext& context) {
  limit_reads(grammar, last_of(first, "timeout"), context);
  auto variables = TRY(read_mca_variables(context.environment));
  std::vector<std::string> notes;
  std::ranges::move(launcher_variables(grammar, context, notes), std::back_inserter(variables));
  auto preferences =
      TRY(read_preferences(last_of(first, "config"), context, {find_known_option, std::move(variables)}));
  std::ranges::move(notes, std::back_inserter(preferences.notes));
  Resolved resolved{.options = {}, .preferences = std::move(preferences)};
  const auto add_line = [&](bool defaults) {  // a launcher's line may have its own defaults
    for (const ParsedOption& given : first.options) {
      if (!given.spec->per_program() && (given.source == Source::personality) == defaults) resolved.options.add(given);
    }
  };
  for (const ParsedOption& given : personality_defaults(grammar)) resolved.options.add(given);
  add_line(true);
  for (const ParsedOption& given : resolved.preferences.given) resolved.options.add(given);
  add_line(false);
  TRY(settle_contradictions(resolved.options));
  limit_reads(grammar, resolved.options.find("timeout"), context);
  return resolved;
}

/// Returns all options except the options of programs.
Result<Options> job_options(const CommandLine& line, const ResolvedOptions& resolved, const ProcessContext& context,
                            const std::vector<std::string>& unset) {
  Options options;
  options.verb = line.verb;
  options.request.environment = context.environment;
  std::erase_if(options.request.environment, [&](const std::string& entry) {
    return std::ranges::find(unset, variable_name(entry)) != unset.end();
  });
  options.hosts.ignore_resource_manager = resolved.find("ignore-resource-manager") != nullptr;  // for other setters
  options.request.cwd = context.cwd;
  TRY(resolved.apply(options, context));
  settle_oversubscribe(resolved, options);
  TRY(check_effects(resolved, options.output, line.verb, line.grammar));
  settle_personality(line.grammar, resolved, options);
  if (options.request.restarts > 0) options.stdin_target.kind = plan::StdinTarget::Kind::none;
  if (options.exec.empty()) options.exec = rsh_command(options.rsh_agent, options.rsh_args);
  if (!options.link_proxy.empty() && !options.exec.empty()) options.exec = options.link_proxy + ' ' + options.exec;
  return options;
}

Result<void> check_programs(Verb verb, const std::vector<AppRequest>& apps) {
  if (verb == Verb::run && apps.empty()) {
    return fail({.where = "", .what = "missing program", .why = "", .hint = usage_hint()});
  }
  if (verb != Verb::hosts || apps.empty()) return {};
  return fail({.where = "hosts",
               .what = "unexpected program \"" + apps.front().argv.front() + '"',
               .why = "hosts prints the hosts and starts no program",
               .hint = "run a program named hosts with this command: dlaunch -- hosts"});
}

/// Adds a note if the only program of the job is a launcher.
void note_launcher(const std::vector<AppRequest>& apps, std::vector<std::string>& notes) {
  constexpr std::string_view kNames[] = {"mpirun", "mpiexec", "torchrun", "srun", "msrun", "deepspeed", "horovodrun"};
  if (apps.size() != 1 || apps.front().argv.empty()) return;
  const std::string_view program = apps.front().argv.front();
  const std::string_view next = apps.front().argv.size() > 1 ? std::string_view(apps.front().argv[1]) : "";
  const std::string name(program.substr(program.rfind('/') + 1));
  if (name == "accelerate" ? next != "launch" : std::ranges::find(kNames, name) == std::end(kNames)) return;
  if (next == "--help" || next == "-h" || next == "--version") return;
  notes.push_back("each rank would run " + name + ", which starts more ranks: use dlaunch --as " + name + " …");
}

std::string text_of(const OptionSpec& spec, const LauncherSpec* launcher, Verb verb) {
  if (launcher && &spec == &help_option()) return launcher_help(*launcher);
  if (spec.name() == "version") return report::version_text();
  return help_for(spec.name(), verb);
}

}  // namespace

Result<Command> parse_command_line(const CommandLine& line, ProcessContext context) {
  if (line.verb == Verb::help) {
    auto page = TRY(help_page(line.words, find_typed_option));  // not map(): tl::expected 1.0 leaks a default Command
    return ShowText{std::move(page)};
  }
  std::vector<std::string> notes;
  const LauncherSpec* foreign = launcher_of(line.grammar);
  auto arguments = TRY(foreign ? read_foreign_line(*foreign, line.words, context, notes)
                               : parse_arguments(line.words, option_of_launchers));
  if (arguments.show) return ShowText{text_of(*arguments.show, foreign, line.verb)};
  if (line.grammar == Grammar::dlaunch) TRY(check_templates(arguments.groups));
  TRY(translate_options(arguments.groups, context, notes));
  auto resolved = TRY(resolve(line.grammar, arguments.groups.front(), context));
  auto options = TRY(job_options(line, resolved.options, context, arguments.unset));
  if (foreign) options.same_line.named = foreign->nodes;
  const bool own = line.grammar == Grammar::dlaunch && !resolved.options.find("app");
  if (own && std::ranges::none_of(arguments.groups, &Group::after_dashes)) options.subcommands = subcommand_names();
  if (line.grammar != Grammar::dlaunch) {
    const std::string_view as = foreign ? "" : line.grammar == Grammar::hydra ? "hydra" : "ompi";
    options.remarks = {"this command line is the same as: " + equivalent_line(resolved.options, arguments, as)};
  }
  Programs programs(line, context, resolved.options.find("app"));
  options.request.apps = TRY(programs.read(std::move(arguments.groups)));
  if (resolved.options.find("show-config")) {
    return ShowText{show_config(resolved.options, resolved.preferences, options.format)};
  }
  TRY(check_programs(line.verb, options.request.apps));
  TRY(join_hosts(options, std::move(programs.hosts)));
  if (line.verb == Verb::run && line.grammar == Grammar::dlaunch) note_launcher(options.request.apps, notes);
  for (auto* each : {&resolved.preferences.notes, &notes, &programs.notes})
    std::ranges::move(*each, std::back_inserter(options.notes));
  TRY(follow_rank_places(resolved.options, context, options));
  return options;
}

}  // namespace dlaunch::cli
