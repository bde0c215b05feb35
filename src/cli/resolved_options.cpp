#include "cli/resolved_options.h"

#include <algorithm>
#include <csignal>
#include <iterator>

#include "base/text.h"
#include "base/try.h"
#include "cli/values.h"
#include "output/file_layout.h"
#include "output/label.h"
#include "place/place.h"

namespace dlaunch::cli {
namespace {

size_t index_of(const OptionSpec* spec) { return static_cast<size_t>(spec - option_table().data()); }

}  // namespace

ResolvedOptions::ResolvedOptions() : rows_(option_table().size()) {}

void ResolvedOptions::add(const ParsedOption& given) {
  std::optional<ParsedOption>& row = rows_[index_of(given.spec)];
  const bool adds = given.spec->takes == Arity::count && row && row->source == given.source;
  const long before = adds ? parse_int(row->value, 0, 9).value_or(0) : 0;
  const std::string joined = given.spec->joins && row && row->source == given.source ? row->value + "," : "";
  row = given;
  row->value.insert(0, joined);
  const bool off_by_default = given.spec->standard.empty();
  if (given.spec->takes == Arity::maybe_value && given.value == "false" && off_by_default) row.reset();
  if (adds) row->value = std::to_string(std::min(9L, before + parse_int(given.value, 0, 9).value_or(0)));
}

const ParsedOption* ResolvedOptions::find(std::string_view name) const {
  const FoundOption found = find_option(name);
  const std::optional<ParsedOption>& row = rows_[index_of(found.spec)];
  if (!row) return nullptr;
  const Arity takes = row->spec->takes;
  const bool off =
      takes == Arity::nothing ? row->value != "true" : takes == Arity::maybe_value && row->value == "false";
  return off ? nullptr : &*row;
}

void ResolvedOptions::drop(const ParsedOption& given) { rows_[index_of(given.spec)].reset(); }

Result<void> ResolvedOptions::apply(Options& options, const ProcessContext& context) const {
  for (const std::optional<ParsedOption>& row : rows_) {
    if (!row || !row->spec->set_job) continue;
    auto set = row->spec->set_job(options, row->value, context);
    if (!set) {
      Error error = set.error();
      if (error.where.empty()) error.where = row->spelled;
      return fail(std::move(error));
    }
  }
  return {};
}

// The pairs of options that exclude each other.

namespace {

using std::string_view;

struct Contradiction {
  string_view one;     ///< NAME, or NAME=VALUE; transport=*: ssh, or a way of a batch system
  string_view others;  ///< the same, separated by blanks
  string_view why;
  bool other_stays = false;  ///< drops `one` whatever its source: with --dry-run no rank may start
};

constexpr string_view kOneLineStart = "both set the start of each line";
constexpr string_view kRawHasNoLines = "raw output is not split into lines";
constexpr string_view kEachPlaces = "both place the ranks";
constexpr string_view kEachKeeps = "both choose the output files";
constexpr string_view kNodesCome = "the hosts are the nodes that run this command";
constexpr string_view kNoOtherHosts = "all hosts are on this machine";
constexpr string_view kOneStream = "stderr and stdout are one stream";
constexpr string_view kEachBinds = "both choose the cores of a rank";
constexpr string_view kBothTransport = "both choose the transport";
constexpr string_view kBothPrint = "dlaunch prints one report and exits";
constexpr string_view kExecConnects = "the command of --exec makes the connection";
constexpr string_view kRecordHasAll = "JSON records already have rank, host, stream and time";

constexpr Contradiction kContradictions[] = {
    {"label", "tag-output timestamp-output", kOneLineStart},
    {"raw", "label tag-output timestamp-output color=always fold console-rate group-output", kRawHasNoLines},
    {"raw", "format=jsonl", "both set the output format"},
    {"format=jsonl", "label tag-output timestamp-output", kRecordHasAll},
    {"format=jsonl", "fold", "each JSON record is from one rank"},
    {"format=jsonl", "console-rate", "the reader of the JSON records needs every record"},
    {"format=jsonl", "group-output", "JSON records already have the rank"},
    {"group-output", "fold console-rate", "a group has all lines of one rank"},
    {"pty", "fold console-rate group-output", "programs can rewrite the lines of a terminal"},
    {"format=jsonl", "color=always", "JSON output has no colors"},
    {"format=jsonl", "display-map", "--display-map does not print JSON"},
    {"format=jsonl", "display-allocation", "--display-allocation does not print JSON"},
    {"format=jsonl", "dry-run", "--dry-run prints only text or json", true},
    {"format=jsonl", "show-env", "--show-env prints only text or json"},
    {"format=jsonl", "show-config", "--show-config prints only text or json"},
    {"include", "exclude", "both choose the hosts"},
    {"ranks", "local-ranks", "both choose the ranks on the console"},
    {"rankfile", "map-by", kEachPlaces},
    {"cpu-list", "bind-to cores-per-rank rankfile", kEachBinds},
    {"transport=*", "rsh-agent", kBothTransport},
    {"exec", "rsh-agent", kBothTransport},
    {"exec", "rsh-args", "--exec already has the whole command"},
    {"rankfile", "N", kEachPlaces},
    {"N", "map-by=seq", kEachPlaces},
    {"dry-run", "show-env show-config", kBothPrint},
    {"show-env", "show-config", kBothPrint},
    {"transport=*", "exec", kBothTransport},
    {"no-env", "env-all", "both choose the variables that ranks inherit"},
    {"ssh-port", "exec", kExecConnects},
    {"ssh-identity", "exec", kExecConnects},
    {"host-key", "exec", "the command of --exec checks the host keys"},
    {"fake-hosts", "host hostfile nolocal exec transport rsh-agent ssh-port ssh-identity host-key", kNoOtherHosts},
    {"same-line", "fake-hosts host hostfile exec transport rsh-agent default-hostfile", kNodesCome},
    {"output-filename", "stdout-file stderr-file", kEachKeeps},
    {"stderr-file", "merge-stderr-to-stdout pty", kOneStream},
    {"pty", "merge-stderr-to-stdout", "a terminal already merges the two streams"},
};

/// A rank table sets devices and places: drops other values from variables and the config file. Also drops a launcher's
/// defaults of --env-for and --env-all: MindSpore would read an outer mpirun's variables.
void drop_overridden_by_table(ResolvedOptions& effective) {
  const ParsedOption* table = effective.find("rank-table");
  if (!table) return;
  for (const char* name : {"env-for", "env-all"}) {
    const ParsedOption* variables = effective.find(name);
    if (variables && variables->source == Source::personality) effective.drop(*variables);
  }
  if (table->value == "auto") return;
  for (const Operand other : {Operand{"fake-devices"}, Operand{"map-by", "node"}, Operand{"map-by", "seq"}}) {
    const ParsedOption* given = holds(effective, other);
    if (given && given->source < table->source) effective.drop(*given);
  }
}

}  // namespace

Operand operand_in(string_view word) {
  const size_t sign = word.find('=');
  return {word.substr(0, sign), sign == word.npos ? "" : word.substr(sign + 1)};
}

const ParsedOption* holds(const ResolvedOptions& effective, Operand operand) {
  const ParsedOption* given = effective.find(operand.name);
  if (!given || operand.value.empty() || given->value == operand.value) return given;
  const bool any = operand.value == "*" && (given->value == "ssh" || place::find_way(given->value));
  const bool unit = operand.name == "map-by" && split_map_by(given->value).policy == operand.value;
  return any || unit ? given : nullptr;
}

std::string describe(const ParsedOption& given, Operand operand) {
  if (operand.value.empty()) return given.spelled;
  return given.spelled + ' ' + (operand.value == "*" ? given.value : std::string(operand.value));
}

Result<void> settle_contradictions(ResolvedOptions& effective) {
  drop_overridden_by_table(effective);
  for (const Contradiction& row : kContradictions) {
    const Operand first = operand_in(row.one);
    for (const std::string& word : split(row.others, ' ')) {
      const Operand second = operand_in(word);
      const ParsedOption* one = holds(effective, first);
      const ParsedOption* other = holds(effective, second);
      if (!one || !other) continue;
      if (one->source == other->source) {
        return fail(conflict(describe(*one, first), describe(*other, second), std::string(row.why)));
      }
      effective.drop(row.other_stays || one->source < other->source ? *one : *other);
    }
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

// Options that require another option, and conflicts that need more than a row of the contradictions.

namespace {

using std::string_view;

tl::unexpected<Error> conflict_with_verb(const std::string& option, Verb verb, std::string hint) {
  const std::string name = verb == Verb::check ? "check" : "hosts";
  return fail(conflict(option, name, name + " does not start ranks", std::move(hint)));
}

Result<void> check_format(const ResolvedOptions& effective, Verb verb) {
  const ParsedOption* json = holds(effective, {"format", "json"});
  if (!json || json->source != Source::command_line || verb != Verb::run || effective.find("dry-run") ||
      effective.find("show-env") || effective.find("show-config"))
    return {};
  return requires_other(json->spelled + " json", "--dry-run, --show-env, --show-config, hosts or check", "",
                        "use --format jsonl for the output of ranks");
}

/// Returns true if the policy places ranks on hosts, not on units within a host.
bool among_hosts(string_view value) {
  value = split_map_by(value).policy;
  return value.empty() || value == "slot" || value == "node" || value == "block" || value == "seq" ||
         value.starts_with("ppr:");
}

/// -N and ppr both set the ranks per host.
Result<void> check_ranks_per_host(const ResolvedOptions& effective) {
  const ParsedOption* each = effective.find("N");
  const ParsedOption* map_by = effective.find("map-by");
  if (!each || !map_by || !map_by->value.starts_with("ppr:")) return {};
  return fail(conflict(each->spelled, map_by->spelled + " " + map_by->value, "both set the ranks per host"));
}

bool asks_for_cores(const ResolvedOptions& effective) {
  const ParsedOption* map_by = effective.find("map-by");
  const string_view modifiers = map_by ? split_map_by(map_by->value).modifiers : string_view();
  return effective.find("cores-per-rank") || modifiers.find("PE=") != string_view::npos ||
         modifiers.find("pe=") != string_view::npos;
}

/// Several cores per rank require binding to cores or threads.
Result<void> check_cores(const ResolvedOptions& effective) {
  const ParsedOption* bind = effective.find("bind-to");
  if (!bind || !asks_for_cores(effective)) return {};
  const string_view unit = string_view(bind->value).substr(0, bind->value.find(':'));
  if (unit.empty() || unit == "core" || unit == "hwthread") return {};
  const ParsedOption* cores = effective.find("cores-per-rank");
  if (!cores) cores = effective.find("map-by");
  return fail(conflict(bind->spelled + " " + bind->value, cores->spelled + " " + cores->value,
                       "a number of cores per rank requires binding to cores",
                       "use --bind-to core or --bind-to hwthread"));
}

/// Without binding, a unit within the host has no effect.
Result<void> check_placing(const ResolvedOptions& effective, string_view name) {
  const ParsedOption* given = effective.find(name);
  if (!given || given->source != Source::command_line || among_hosts(given->value)) return {};
  const ParsedOption* bind = effective.find("bind-to");
  if (bind && bind->value == "device") {
    return fail(
        conflict(given->spelled + " " + given->value, bind->spelled + " device", "ranks are bound near their devices"));
  }
  if (bind ? bind->value != "none" : asks_for_cores(effective)) return {};
  return requires_other(given->spelled + " " + given->value, "--bind-to", "the ranks are not bound",
                        "add --bind-to core, or remove " + given->spelled);
}

/// Options that have no effect without another option.
struct Requirement {
  string_view options;  ///< NAME or NAME=VALUE, separated by blanks
  string_view needed;   ///< the name of the other option
  string_view shown;    ///< the other option as in a command line
  string_view why = {};
  string_view hint = {};
  bool typed = true;  ///< only a typed option is an error: the config file may set the option for other jobs
};

constexpr Requirement kRequirements[] = {
    {"color=always", "label", "--label", "only labels have a color"},
    {"stage save-env", "rank-dir", "--rank-dir", "", "add --rank-dir 'device{rank}'", false},
    {"spares shrink", "restarts", "--restarts N", "", "", false},
    {"on-hang=restart", "restarts", "--restarts N"},
    {"preempt-grace preempted-code", "checkpoint-signal", "--checkpoint-signal"},
    {"progress-lag", "progress", "--progress", "", "add --progress 'step (\\d+)'"},
    {"transport=exec", "exec", "--exec", "", "add --exec 'kubectl exec -i {host} --'", false},
    {"rendezvous node-rank nodes last-call key-file", "same-line", "--same-line"},
};

/// As holds(), without --restarts 0, --spares 0 and --shrink=false.
const ParsedOption* in_use(const ResolvedOptions& effective, Operand operand) {
  const ParsedOption* given = holds(effective, operand);
  const bool counts = operand.name == "restarts" || operand.name == "spares" || operand.name == "shrink";
  return given && counts && (given->value == "0" || given->value == "false") ? nullptr : given;
}

Result<void> check_requirements(const ResolvedOptions& effective) {
  for (const Requirement& row : kRequirements) {
    if (in_use(effective, {row.needed})) continue;
    for (const std::string& word : split(row.options, ' ')) {
      const ParsedOption* given = in_use(effective, operand_in(word));
      if (!given || (row.typed && given->source != Source::command_line)) continue;
      return requires_other(describe(*given, operand_in(word)), row.shown, std::string(row.why), std::string(row.hint));
    }
  }
  return {};
}

/// A restarted rank cannot read the input of an earlier round again.
Result<void> check_stdin(const ResolvedOptions& effective) {
  const ParsedOption* restarts = in_use(effective, {"restarts"});
  const ParsedOption* input = effective.find("stdin");
  if (!restarts || !input || input->value == "none" || input->source != Source::command_line) return {};
  return fail(conflict(input->spelled + " " + input->value, restarts->spelled,
                       "restarted ranks cannot read the input again",
                       "use a file as the ranks' input, or remove one of the options"));
}

/// --checkpoint-signal uses USR1 and USR2 as dlaunch's own input.
Result<void> check_stacks_signal(const ResolvedOptions& effective) {
  const ParsedOption* stacks = effective.find("stacks-on");
  const ParsedOption* checkpoint = effective.find("checkpoint-signal");
  if (!stacks || !checkpoint) return {};
  const auto signal = stacks_signal(stacks->value);
  if (!signal || *signal == SIGQUIT) return {};
  return fail(conflict(stacks->spelled + " " + stacks->value, checkpoint->spelled, "USR1 and USR2 announce preemption",
                       "use --stacks-on QUIT"));
}

/// Only a typed option is an error: --keep-logs may be in the config file for other jobs.
Result<void> check_keep_logs(const ResolvedOptions& effective) {
  const ParsedOption* keep = effective.find("keep-logs");
  if (!keep || keep->source != Source::command_line) return {};
  const ParsedOption* files = effective.find("output-filename");
  if (!files) return requires_other(keep->spelled, "--output-filename DIR");
  if (!output::is_template(files->value)) return {};
  return requires_other(keep->spelled, "--output-filename DIR", "a template has no directory that dlaunch can rename");
}

bool only_in_file(const ResolvedOptions& effective, string_view option) {
  const ParsedOption* given = effective.find(option);
  return given && (given->value + ':').find(":copy:") == string_view::npos;
}

Result<void> check_ranks(const ResolvedOptions& effective, string_view option) {
  const ParsedOption* ranks = effective.find(option);
  if (ranks && only_in_file(effective, "stdout-file") && only_in_file(effective, "stderr-file")) {
    return fail(conflict(ranks->spelled, "--stdout-file and --stderr-file", "no output reaches the console"));
  }
  const ParsedOption* files = effective.find("output-filename");
  if (!ranks || !files) return {};
  const auto settings = file_settings(files->value, "/");
  if (!settings || settings->copy) return {};
  return fail(conflict(ranks->spelled, files->spelled + " DIR:nocopy", "no output reaches the console"));
}

/// A line that the console does not show must be in a file.
Result<void> check_console_rate(const ResolvedOptions& effective, const output::OutputSettings& output) {
  const ParsedOption* rate = effective.find("console-rate");
  const auto stream = output::shown_without_file(output);
  if (!rate || rate->source != Source::command_line) return {};
  if (!stream) return check_ranks(effective, "console-rate");
  const std::string name(output::stream_name(*stream));
  return requires_other(rate->spelled, "--output-filename DIR", "log files must contain all lines of " + name,
                        "add --output-filename DIR, or --" + name + "-file FILE:copy");
}

/// `hosts` and `check` do not start ranks.
Result<void> check_verb(const ResolvedOptions& effective, Verb verb) {
  if (const ParsedOption* ascend = effective.find("ascend"); ascend && verb != Verb::check) {
    return requires_other(ascend->spelled, "check", "", "run dlaunch check --ascend");
  }
  if (const ParsedOption* same_line = effective.find("same-line"); same_line && verb == Verb::check) {
    return fail(conflict(same_line->spelled, "check", "", "remove " + same_line->spelled));
  }
  if (verb == Verb::run) return {};
  for (const string_view name : {"dry-run", "show-env", "report", "report-pid", "display-map", "display-allocation"}) {
    const ParsedOption* given = effective.find(name);
    if (given && given->source == Source::command_line) {
      return conflict_with_verb(given->spelled, verb, "remove " + given->spelled);
    }
  }
  const ParsedOption* lines = holds(effective, {"format", "jsonl"});
  if (lines && lines->source == Source::command_line) {
    return conflict_with_verb(lines->spelled + " jsonl", verb, "use --format json");
  }
  return {};
}

/// An option whose value may contain "%r" or "$RANK_ID" by mistake, and the remedy if the value is not a template.
struct TemplateRow {
  string_view name;
  string_view hint = {};
};

/// Rejects "%r" and "$RANK_ID" in templates, and in paths that all ranks share.
Result<void> check_template(const ParsedOption& given) {
  constexpr TemplateRow kTemplates[] = {{"label"},
                                        {"output-filename"},
                                        {"stdout-file"},
                                        {"stderr-file"},
                                        {"error-file"},
                                        {"rank-dir"},
                                        {"wdir", "use --rank-dir 'DIR{rank}' for a directory per rank"},
                                        {"report", "use one file: the record contains all ranks"},
                                        {"report-pid", "use one file: it contains the pid of dlaunch"}};
  const auto* const row = std::ranges::find(kTemplates, given.spec->name(), &TemplateRow::name);
  if (row == std::end(kTemplates)) return {};
  auto checked = check_template_fields(given.value);
  if (checked) return {};
  checked.error().where = given.spelled;
  if (!row->hint.empty()) checked.error().hint = row->hint;
  return checked;
}

/// Checks the templates in effect from DLAUNCH_* and the config file.
Result<void> check_preferred_templates(const ResolvedOptions& effective) {
  for (const std::optional<ParsedOption>& row : effective.rows()) {
    if (row && (row->source == Source::config_file || row->source == Source::variable)) TRY(check_template(*row));
  }
  return {};
}

}  // namespace

Result<void> check_effects(const ResolvedOptions& effective, const output::OutputSettings& output, Verb verb,
                           Grammar grammar) {
  if (grammar == Grammar::dlaunch) TRY(check_preferred_templates(effective));
  TRY(check_verb(effective, verb));
  TRY(check_format(effective, verb));
  for (const string_view name : {"map-by", "rank-by"}) {
    if (grammar == Grammar::open_mpi) break;  // binds by default
    if (grammar == Grammar::hydra) break;     // settle_personality() notes it
    TRY(check_placing(effective, name));
  }
  TRY(check_cores(effective));
  TRY(check_requirements(effective));
  TRY(check_stdin(effective));
  TRY(check_stacks_signal(effective));
  TRY(check_ranks_per_host(effective));
  TRY(check_keep_logs(effective));
  TRY(check_console_rate(effective, output));
  TRY(check_ranks(effective, "ranks"));
  return check_ranks(effective, "local-ranks");
}

Result<void> check_typed_templates(const std::vector<ParsedOption>& options) {
  for (const ParsedOption& given : options) {
    TRY(check_template(given));
  }
  return {};
}

}  // namespace dlaunch::cli
