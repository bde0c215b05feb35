// Which options would do nothing beside the others, or cannot do what they say.
#include <csignal>
#include <string>

#include "base/try.h"
#include "cli/operand.h"
#include "cli/resolved_options.h"
#include "cli/values.h"
#include "output/file_layout.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

tl::unexpected<Error> useless(const std::string& where, std::string why, std::string hint) {
  return fail({.where = where, .what = "would do nothing", .why = std::move(why), .hint = std::move(hint)});
}

Result<void> check_format(const ResolvedOptions& effective, Verb verb) {
  const ParsedOption* json = holds(effective, {"format", "json"});
  if (!json || json->source != Source::command_line || verb != Verb::run || effective.find("dry-run") ||
      effective.find("show-env") || effective.find("show-config"))
    return {};
  return useless(json->spelled + " json", "it is the form of --dry-run, --show-env, --show-config, hosts and check",
                 "--format jsonl prints the ranks' output as JSON lines");
}

/// Whether the policy places ranks on hosts, not on units within a host.
bool among_hosts(string_view value) {
  value = split_map_by(value).policy;
  return value.empty() || value == "slot" || value == "node" || value == "block" || value == "seq" ||
         value.starts_with("ppr:");
}

/// -N and ppr mean the same, maybe with different numbers.
Result<void> check_ranks_per_host(const ResolvedOptions& effective) {
  const ParsedOption* each = effective.find("N");
  const ParsedOption* map_by = effective.find("map-by");
  if (!each || !map_by || !map_by->value.starts_with("ppr:")) return {};
  return fail({.where = each->spelled,
               .what = "does not go with " + map_by->spelled + " " + map_by->value,
               .why = "each says how many ranks a host gets",
               .hint = "leave one of them out"});
}

bool asks_for_cores(const ResolvedOptions& effective) {
  const ParsedOption* map_by = effective.find("map-by");
  const string_view modifiers = map_by ? split_map_by(map_by->value).modifiers : string_view();
  return effective.find("cores-per-rank") || modifiers.find("PE=") != string_view::npos ||
         modifiers.find("pe=") != string_view::npos;
}

/// More than one core for each rank requires binding to cores or threads.
Result<void> check_cores(const ResolvedOptions& effective) {
  const ParsedOption* bind = effective.find("bind-to");
  if (!bind || !asks_for_cores(effective)) return {};
  const string_view unit = string_view(bind->value).substr(0, bind->value.find(':'));
  if (unit.empty() || unit == "core" || unit == "hwthread") return {};
  return fail({.where = bind->spelled + " " + bind->value,
               .what = "does not go with a number of cores for each rank",
               .why = "",
               .hint = "leave it out, or say --bind-to core"});
}

/// Without binding, a unit within the host has no effect.
Result<void> check_placing(const ResolvedOptions& effective, string_view name) {
  const ParsedOption* given = effective.find(name);
  if (!given || given->source != Source::command_line || among_hosts(given->value)) return {};
  const ParsedOption* bind = effective.find("bind-to");
  if (bind && bind->value == "device") {
    return useless(given->spelled + " " + given->value, "ranks are bound near their devices", "leave it out");
  }
  if (bind ? bind->value != "none" : asks_for_cores(effective)) return {};
  return useless(given->spelled + " " + given->value, "ranks are not bound", "add --bind-to core, or leave it out");
}

Result<void> check_color(const ResolvedOptions& effective) {
  const ParsedOption* always = holds(effective, {"color", "always"});
  if (!always || always->source != Source::command_line || effective.find("label")) return {};
  return useless(always->spelled + " always", "labels alone have a colour", "add --label");
}

Result<void> check_transport(const ResolvedOptions& effective) {
  const ParsedOption* by_command = holds(effective, {"transport", "exec"});
  if (!by_command || effective.find("exec")) return {};
  return fail({.where = by_command->spelled + " exec",
               .what = "no command is named",
               .why = "",
               .hint = "add --exec 'kubectl exec -i {host} --', or what reaches your hosts"});
}

/// A key in the configuration is for the jobs that need one.
Result<void> check_same_line(const ResolvedOptions& effective, Verb verb) {
  const ParsedOption* same_line = effective.find("same-line");
  if (same_line && verb == Verb::check) {
    return fail({.where = same_line->spelled, .what = "does not go with check", .why = "", .hint = "leave it out"});
  }
  if (same_line) return {};
  for (const string_view name : {"rendezvous", "node-rank", "nodes", "last-call", "key-file"}) {
    const ParsedOption* given = effective.find(name);
    if (!given || given->source != Source::command_line) continue;
    return useless(given->spelled, "the other nodes do not run this line", "add --same-line");
  }
  return {};
}

/// A preference applies only to jobs that have such a directory.
Result<void> check_keep_logs(const ResolvedOptions& effective) {
  const ParsedOption* keep = effective.find("keep-logs");
  if (!keep || keep->source != Source::command_line) return {};
  const ParsedOption* files = effective.find("output-filename");
  if (!files) return useless(keep->spelled, "no directory of files is written", "add --output-filename DIR");
  if (!output::is_template(files->value)) return {};
  return useless(keep->spelled, "the files of a template have no directory of their own",
                 "write --output-filename DIR, or leave it out");
}

bool only_in_file(const ResolvedOptions& effective, string_view option) {
  const ParsedOption* given = effective.find(option);
  return given && !given->value.ends_with(":copy");
}

Result<void> check_ranks(const ResolvedOptions& effective, string_view option) {
  const ParsedOption* ranks = effective.find(option);
  if (ranks && only_in_file(effective, "stdout-file") && only_in_file(effective, "stderr-file")) {
    return useless(ranks->spelled, "nothing reaches the console", "leave one of them out");
  }
  const ParsedOption* files = effective.find("output-filename");
  if (!ranks || !files) return {};
  const auto settings = file_settings(files->value, "/");
  if (!settings || settings->copy) return {};
  return useless(ranks->spelled, "with :nocopy nothing reaches the console", "leave one of them out");
}

/// What round 0 has read of stdin is gone.
Result<void> check_restarts(const ResolvedOptions& effective) {
  const ParsedOption* restarts = effective.find("restarts");
  const ParsedOption* spares = effective.find("spares");
  if (spares && spares->value != "0" && (!restarts || restarts->value == "0")) {
    return useless(spares->spelled, "ranks are not started again", "add --restarts N");
  }
  const ParsedOption* shrink = effective.find("shrink");
  if (shrink && shrink->value != "false" && (!restarts || restarts->value == "0")) {
    return useless(shrink->spelled, "ranks are not started again", "add --restarts N");
  }
  const ParsedOption* hang = holds(effective, {"on-hang", "restart"});
  if (hang && hang->source == Source::command_line && (!restarts || restarts->value == "0")) {
    return useless(hang->spelled + " restart", "ranks are not started again", "add --restarts N");
  }
  const ParsedOption* input = effective.find("stdin");
  if (!restarts || restarts->value == "0" || !input || input->value == "none") return {};
  if (input->source != Source::command_line) return {};
  return fail({.where = input->spelled + " " + input->value,
               .what = "does not go with " + restarts->spelled,
               .why = "what one round has read is gone in the next",
               .hint = "let the ranks read a file, or leave one of them out"});
}

/// What --checkpoint-signal begins.
Result<void> check_preemption(const ResolvedOptions& effective) {
  if (effective.find("checkpoint-signal")) return {};
  for (const string_view name : {"preempt-grace", "preempted-code"}) {
    const ParsedOption* given = effective.find(name);
    if (given && given->source == Source::command_line) {
      return useless(given->spelled, "the ranks get no signal to save their state", "add --checkpoint-signal USR1");
    }
  }
  return {};
}

/// --progress-lag is about what --progress finds; --checkpoint-signal gives USR1 and USR2 a meaning.
Result<void> check_looking(const ResolvedOptions& effective) {
  const ParsedOption* lag = effective.find("progress-lag");
  if (lag && lag->source == Source::command_line && !effective.find("progress")) {
    return useless(lag->spelled, "the ranks' progress is not known", "add --progress 'step (\\d+)'");
  }
  const ParsedOption* stacks = effective.find("stacks-on");
  const ParsedOption* checkpoint = effective.find("checkpoint-signal");
  if (!stacks || !checkpoint) return {};
  const auto signal = stacks_signal(stacks->value);
  if (!signal || *signal == SIGQUIT) return {};
  return fail({.where = stacks->spelled + " " + stacks->value,
               .what = "does not go with " + checkpoint->spelled,
               .why = "with it this signal means that the hosts are taken back",
               .hint = "say --stacks-on QUIT"});
}

/// --stage and the like require a directory of the rank's own.
Result<void> check_rank_dirs(const ResolvedOptions& effective) {
  if (effective.find("rank-dir")) return {};
  for (const string_view name : {"stage", "save-env"}) {
    if (const ParsedOption* given = effective.find(name)) {
      return useless(given->spelled, "the ranks have no directories of their own", "add --rank-dir 'device{rank}'");
    }
  }
  return {};
}

/// `hosts` and `check` start nothing.
Result<void> check_verb(const ResolvedOptions& effective, Verb verb) {
  if (const ParsedOption* ascend = effective.find("ascend"); ascend && verb != Verb::check) {
    return useless(ascend->spelled, "it belongs to check", "say dlaunch check --ascend");
  }
  if (verb == Verb::run) return {};
  for (const string_view name : {"dry-run", "show-env", "report", "report-pid", "display-map", "display-allocation"}) {
    const ParsedOption* given = effective.find(name);
    if (given && given->source == Source::command_line)
      return useless(given->spelled, "no rank is started", "leave it out");
  }
  const ParsedOption* lines = holds(effective, {"format", "jsonl"});
  if (lines && lines->source == Source::command_line) {
    return useless(lines->spelled + " jsonl", "no rank is started", "--format json prints what was found");
  }
  return {};
}

}  // namespace

Result<void> check_effects(const ResolvedOptions& effective, Verb verb, Grammar grammar) {
  TRY(check_verb(effective, verb));
  TRY(check_format(effective, verb));
  for (const string_view name : {"map-by", "rank-by"}) {
    if (grammar == Grammar::open_mpi) break;  // it binds by default
    if (grammar == Grammar::hydra) break;     // settle_personality() notes it
    TRY(check_placing(effective, name));
  }
  TRY(check_cores(effective));
  TRY(check_color(effective));
  TRY(check_rank_dirs(effective));
  TRY(check_restarts(effective));
  TRY(check_preemption(effective));
  TRY(check_looking(effective));
  TRY(check_transport(effective));
  TRY(check_same_line(effective, verb));
  TRY(check_ranks_per_host(effective));
  TRY(check_keep_logs(effective));
  TRY(check_ranks(effective, "ranks"));
  return check_ranks(effective, "local-ranks");
}

}  // namespace dlaunch::cli
