// Which options exclude each other, and which would do nothing. The rows are the whole policy.
#include <string>

#include "base/try.h"
#include "cli/resolved_options.h"
#include "cli/values.h"
#include "output/file_layout.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

/// An option, or one value of it.
struct Operand {
  string_view name;
  string_view value = {};  ///< empty: any
};

struct Contradiction {
  Operand one;
  Operand other;
  string_view why;
};

constexpr string_view kOneLineStart = "each says how a line begins";
constexpr string_view kRawHasNoLines = "raw output has no lines to mark";
constexpr string_view kEachPlaces = "both decide where ranks go";
constexpr string_view kEachKeeps = "both decide where output is kept";
constexpr string_view kOneStream = "stderr is no stream of its own then";
constexpr string_view kEachBinds = "each says which cores a rank gets";
constexpr string_view kRecordHasAll = "a JSON record has rank, host, stream and time already";

constexpr Contradiction kContradictions[] = {
    {{"label"}, {"tag-output"}, kOneLineStart},
    {{"label"}, {"timestamp-output"}, kOneLineStart},
    {{"raw"}, {"label"}, kRawHasNoLines},
    {{"raw"}, {"tag-output"}, kRawHasNoLines},
    {{"raw"}, {"timestamp-output"}, kRawHasNoLines},
    {{"raw"}, {"color", "always"}, kRawHasNoLines},
    {{"raw"}, {"format", "jsonl"}, "each says how output is written"},
    {{"format", "jsonl"}, {"label"}, kRecordHasAll},
    {{"format", "jsonl"}, {"tag-output"}, kRecordHasAll},
    {{"format", "jsonl"}, {"timestamp-output"}, kRecordHasAll},
    {{"format", "jsonl"}, {"color", "always"}, "JSON has no colours"},
    {{"format", "jsonl"}, {"display-map"}, "the plan is no JSON line"},
    {{"format", "jsonl"}, {"display-allocation"}, "the table of hosts is no JSON line"},
    {{"format", "jsonl"}, {"dry-run"}, "the plan prints as text or json"},
    {{"format", "jsonl"}, {"show-env"}, "an environment prints as text or json"},
    {{"format", "jsonl"}, {"show-config"}, "the configuration prints as text or json"},
    {{"include"}, {"exclude"}, "each says which hosts are left"},
    {{"rankfile"}, {"map-by"}, kEachPlaces},
    {{"cpu-list"}, {"bind-to"}, kEachBinds},
    {{"cpu-list"}, {"cores-per-rank"}, kEachBinds},
    {{"cpu-list"}, {"rankfile"}, kEachBinds},
    {{"transport", "ssh"}, {"rsh-agent"}, "each says how hosts are reached"},
    {{"exec"}, {"rsh-agent"}, "each says how hosts are reached"},
    {{"exec"}, {"rsh-args"}, "the command of --exec has its own words"},
    {{"rankfile"}, {"N"}, kEachPlaces},
    {{"N"}, {"map-by", "seq"}, kEachPlaces},
    {{"dry-run"}, {"show-env"}, "each prints something else and ends"},
    {{"dry-run"}, {"show-config"}, "each prints something else and ends"},
    {{"show-env"}, {"show-config"}, "each prints something else and ends"},
    {{"transport", "ssh"}, {"exec"}, "each says how hosts are reached"},
    {{"transport", "slurm"}, {"exec"}, "each says how hosts are reached"},
    {{"transport", "slurm"}, {"rsh-agent"}, "each says how hosts are reached"},
    {{"host-key"}, {"exec"}, "the command of --exec judges keys by itself"},
    {{"output-filename"}, {"stdout-file"}, kEachKeeps},
    {{"output-filename"}, {"stderr-file"}, kEachKeeps},
    {{"stderr-file"}, {"merge-stderr-to-stdout"}, kOneStream},
    {{"stderr-file"}, {"pty"}, kOneStream},
    {{"pty"}, {"merge-stderr-to-stdout"}, "a terminal joins the two already"},
};

const ParsedOption* holds(const ResolvedOptions& effective, Operand operand) {
  const ParsedOption* given = effective.find(operand.name);
  if (!given || operand.value.empty() || given->value == operand.value) return given;
  const bool unit = operand.name == "map-by" && split_map_by(given->value).policy == operand.value;
  return unit ? given : nullptr;
}

std::string describe(const ParsedOption& given, Operand operand) {
  std::string text = given.spelled;
  if (!operand.value.empty()) text.append(" ").append(operand.value);
  return text;
}

tl::unexpected<Error> useless(const std::string& where, std::string why, std::string hint) {
  return fail({.where = where, .what = "would do nothing", .why = std::move(why), .hint = std::move(hint)});
}

Result<void> check_format(const ResolvedOptions& effective, Verb verb) {
  const ParsedOption* json = holds(effective, {"format", "json"});
  if (!json || verb != Verb::run || effective.find("dry-run") || effective.find("show-env") ||
      effective.find("show-config"))
    return {};
  return useless(json->spelled + " json", "it is the form of --dry-run, --show-env, --show-config, hosts and check",
                 "--format jsonl prints the ranks' output as JSON lines");
}

/// Whether the policy places ranks on hosts, not on units within a host.
bool among_hosts(string_view value) {
  value = split_map_by(value).policy;
  return value.empty() || value == "slot" || value == "node" || value == "seq" || value.starts_with("ppr:");
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

Result<void> check_ranks(const ResolvedOptions& effective) {
  const ParsedOption* ranks = effective.find("ranks");
  if (ranks && effective.find("stdout-file") && effective.find("stderr-file")) {
    return useless(ranks->spelled, "nothing reaches the console", "leave one of them out");
  }
  const ParsedOption* files = effective.find("output-filename");
  if (!ranks || !files) return {};
  const auto settings = file_settings(files->value, "/");
  if (!settings || settings->copy) return {};
  return useless(ranks->spelled, "with :nocopy nothing reaches the console", "leave one of them out");
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
    if (const ParsedOption* given = effective.find(name))
      return useless(given->spelled, "no rank is started", "leave it out");
  }
  if (const ParsedOption* lines = holds(effective, {"format", "jsonl"})) {
    return useless(lines->spelled + " jsonl", "no rank is started", "--format json prints what was found");
  }
  return {};
}

/// A table has devices and places of its own, so variables and the config file that set them are ignored. A job with a
/// table does not start by Open MPI's variables.
void drop_what_the_table_says(ResolvedOptions& effective) {
  const ParsedOption* table = effective.find("rank-table");
  if (!table) return;
  const ParsedOption* variables = effective.find("env-for");
  if (variables && variables->source == Source::personality) effective.drop(*variables);
  if (table->value == "auto") return;
  for (const Operand other : {Operand{"fake-devices"}, Operand{"map-by", "node"}, Operand{"map-by", "seq"}}) {
    const ParsedOption* given = holds(effective, other);
    if (given && given->source < table->source) effective.drop(*given);
  }
}

}  // namespace

Result<void> settle_contradictions(ResolvedOptions& effective) {
  drop_what_the_table_says(effective);
  for (const Contradiction& row : kContradictions) {
    const ParsedOption* one = holds(effective, row.one);
    const ParsedOption* other = holds(effective, row.other);
    if (!one || !other) continue;
    if (one->source != other->source) {
      effective.drop(one->source < other->source ? *one : *other);
      continue;
    }
    return fail({.where = describe(*one, row.one),
                 .what = "does not go with " + describe(*other, row.other),
                 .why = std::string(row.why),
                 .hint = "leave one of them out"});
  }
  return {};
}

void settle_oversubscribe(const ResolvedOptions& effective, Options& options) {
  const ParsedOption* map_by = effective.find("map-by");
  for (const std::optional<ParsedOption>& row : effective.rows()) {
    const bool stronger = map_by && row && row->spec->name() == "oversubscribe" && row->source > map_by->source;
    if (stronger) options.request.oversubscribe = row->value == "true";
  }
}

Result<void> check_effects(const ResolvedOptions& effective, Verb verb, Grammar grammar) {
  TRY(check_verb(effective, verb));
  TRY(check_format(effective, verb));
  for (const string_view name : {"map-by", "rank-by"}) {
    if (grammar == Grammar::open_mpi) break;  // it binds by default
    TRY(check_placing(effective, name));
  }
  TRY(check_cores(effective));
  TRY(check_color(effective));
  TRY(check_rank_dirs(effective));
  TRY(check_transport(effective));
  TRY(check_ranks_per_host(effective));
  TRY(check_keep_logs(effective));
  return check_ranks(effective);
}

}  // namespace dlaunch::cli
