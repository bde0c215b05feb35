// Which options exclude each other. The rows are the whole policy.
#include <string>

#include "cli/operand.h"
#include "cli/resolved_options.h"
#include "cli/values.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

struct Contradiction {
  Operand one;
  Operand other;
  string_view why;
  bool other_stays = false;  ///< whichever source is stronger: what plans must not start
};

constexpr string_view kOneLineStart = "each says how a line begins";
constexpr string_view kRawHasNoLines = "raw output has no lines to mark";
constexpr string_view kEachPlaces = "both decide where ranks go";
constexpr string_view kEachKeeps = "both decide where output is kept";
constexpr string_view kNodesCome = "the job's hosts are the nodes that run this line";
constexpr string_view kNoOtherHosts = "this machine plays the job's hosts";
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
    {{"format", "jsonl"}, {"dry-run"}, "the plan prints as text or json", true},
    {{"format", "jsonl"}, {"show-env"}, "an environment prints as text or json"},
    {{"format", "jsonl"}, {"show-config"}, "the configuration prints as text or json"},
    {{"include"}, {"exclude"}, "each says which hosts are left"},
    {{"ranks"}, {"local-ranks"}, "each says whose output is shown"},
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
    {{"transport", "sge"}, {"exec"}, "each says how hosts are reached"},
    {{"transport", "sge"}, {"rsh-agent"}, "each says how hosts are reached"},
    {{"transport", "lsf"}, {"exec"}, "each says how hosts are reached"},
    {{"transport", "lsf"}, {"rsh-agent"}, "each says how hosts are reached"},
    {{"transport", "pbs"}, {"exec"}, "each says how hosts are reached"},
    {{"transport", "pbs"}, {"rsh-agent"}, "each says how hosts are reached"},
    {{"transport", "pals"}, {"exec"}, "each says how hosts are reached"},
    {{"transport", "pals"}, {"rsh-agent"}, "each says how hosts are reached"},
    {{"transport", "flux"}, {"exec"}, "each says how hosts are reached"},
    {{"transport", "flux"}, {"rsh-agent"}, "each says how hosts are reached"},
    {{"ssh-port"}, {"exec"}, "the command of --exec reaches hosts by itself"},
    {{"ssh-identity"}, {"exec"}, "the command of --exec reaches hosts by itself"},
    {{"host-key"}, {"exec"}, "the command of --exec judges keys by itself"},
    {{"fake-hosts"}, {"host"}, kNoOtherHosts},
    {{"fake-hosts"}, {"hostfile"}, kNoOtherHosts},
    {{"fake-hosts"}, {"nolocal"}, kNoOtherHosts},
    {{"fake-hosts"}, {"exec"}, kNoOtherHosts},
    {{"fake-hosts"}, {"transport"}, kNoOtherHosts},
    {{"fake-hosts"}, {"rsh-agent"}, kNoOtherHosts},
    {{"fake-hosts"}, {"ssh-port"}, kNoOtherHosts},
    {{"fake-hosts"}, {"ssh-identity"}, kNoOtherHosts},
    {{"fake-hosts"}, {"host-key"}, kNoOtherHosts},
    {{"same-line"}, {"fake-hosts"}, kNodesCome},
    {{"same-line"}, {"host"}, kNodesCome},
    {{"same-line"}, {"hostfile"}, kNodesCome},
    {{"same-line"}, {"exec"}, kNodesCome},
    {{"same-line"}, {"transport"}, kNodesCome},
    {{"same-line"}, {"rsh-agent"}, kNodesCome},
    {{"same-line"}, {"default-hostfile"}, kNodesCome},
    {{"output-filename"}, {"stdout-file"}, kEachKeeps},
    {{"output-filename"}, {"stderr-file"}, kEachKeeps},
    {{"stderr-file"}, {"merge-stderr-to-stdout"}, kOneStream},
    {{"stderr-file"}, {"pty"}, kOneStream},
    {{"pty"}, {"merge-stderr-to-stdout"}, "a terminal joins the two already"},
};

std::string describe(const ParsedOption& given, Operand operand) {
  std::string text = given.spelled;
  if (!operand.value.empty()) text.append(" ").append(operand.value);
  return text;
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

const ParsedOption* holds(const ResolvedOptions& effective, Operand operand) {
  const ParsedOption* given = effective.find(operand.name);
  if (!given || operand.value.empty() || given->value == operand.value) return given;
  const bool unit = operand.name == "map-by" && split_map_by(given->value).policy == operand.value;
  return unit ? given : nullptr;
}

Result<void> settle_contradictions(ResolvedOptions& effective) {
  drop_what_the_table_says(effective);
  for (const Contradiction& row : kContradictions) {
    const ParsedOption* one = holds(effective, row.one);
    const ParsedOption* other = holds(effective, row.other);
    if (!one || !other) continue;
    if (one->source != other->source) {
      effective.drop(row.other_stays || one->source < other->source ? *one : *other);
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

}  // namespace dlaunch::cli
