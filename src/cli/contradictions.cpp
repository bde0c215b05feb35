// The pairs of options that exclude each other.
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
    {{"label"}, {"tag-output"}, kOneLineStart},
    {{"label"}, {"timestamp-output"}, kOneLineStart},
    {{"raw"}, {"label"}, kRawHasNoLines},
    {{"raw"}, {"tag-output"}, kRawHasNoLines},
    {{"raw"}, {"timestamp-output"}, kRawHasNoLines},
    {{"raw"}, {"color", "always"}, kRawHasNoLines},
    {{"raw"}, {"format", "jsonl"}, "both set the output format"},
    {{"format", "jsonl"}, {"label"}, kRecordHasAll},
    {{"format", "jsonl"}, {"tag-output"}, kRecordHasAll},
    {{"format", "jsonl"}, {"timestamp-output"}, kRecordHasAll},
    {{"format", "jsonl"}, {"color", "always"}, "JSON output has no colors"},
    {{"format", "jsonl"}, {"display-map"}, "--display-map does not print JSON"},
    {{"format", "jsonl"}, {"display-allocation"}, "--display-allocation does not print JSON"},
    {{"format", "jsonl"}, {"dry-run"}, "--dry-run prints only text or json", true},
    {{"format", "jsonl"}, {"show-env"}, "--show-env prints only text or json"},
    {{"format", "jsonl"}, {"show-config"}, "--show-config prints only text or json"},
    {{"include"}, {"exclude"}, "both choose the hosts"},
    {{"ranks"}, {"local-ranks"}, "both choose the ranks on the console"},
    {{"rankfile"}, {"map-by"}, kEachPlaces},
    {{"cpu-list"}, {"bind-to"}, kEachBinds},
    {{"cpu-list"}, {"cores-per-rank"}, kEachBinds},
    {{"cpu-list"}, {"rankfile"}, kEachBinds},
    {{"transport", "ssh"}, {"rsh-agent"}, kBothTransport},
    {{"exec"}, {"rsh-agent"}, kBothTransport},
    {{"exec"}, {"rsh-args"}, "--exec already has the whole command"},
    {{"rankfile"}, {"N"}, kEachPlaces},
    {{"N"}, {"map-by", "seq"}, kEachPlaces},
    {{"dry-run"}, {"show-env"}, kBothPrint},
    {{"dry-run"}, {"show-config"}, kBothPrint},
    {{"show-env"}, {"show-config"}, kBothPrint},
    {{"transport", "ssh"}, {"exec"}, kBothTransport},
    {{"transport", "slurm"}, {"exec"}, kBothTransport},
    {{"transport", "slurm"}, {"rsh-agent"}, kBothTransport},
    {{"transport", "sge"}, {"exec"}, kBothTransport},
    {{"transport", "sge"}, {"rsh-agent"}, kBothTransport},
    {{"transport", "lsf"}, {"exec"}, kBothTransport},
    {{"transport", "lsf"}, {"rsh-agent"}, kBothTransport},
    {{"transport", "pbs"}, {"exec"}, kBothTransport},
    {{"transport", "pbs"}, {"rsh-agent"}, kBothTransport},
    {{"transport", "pals"}, {"exec"}, kBothTransport},
    {{"transport", "pals"}, {"rsh-agent"}, kBothTransport},
    {{"transport", "flux"}, {"exec"}, kBothTransport},
    {{"transport", "flux"}, {"rsh-agent"}, kBothTransport},
    {{"no-env"}, {"env-all"}, "both choose the variables that ranks inherit"},
    {{"ssh-port"}, {"exec"}, kExecConnects},
    {{"ssh-identity"}, {"exec"}, kExecConnects},
    {{"host-key"}, {"exec"}, "the command of --exec checks the host keys"},
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
    {{"pty"}, {"merge-stderr-to-stdout"}, "a terminal already merges the two streams"},
};

std::string describe(const ParsedOption& given, Operand operand) {
  std::string text = given.spelled;
  if (!operand.value.empty()) text.append(" ").append(operand.value);
  return text;
}

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

const ParsedOption* holds(const ResolvedOptions& effective, Operand operand) {
  const ParsedOption* given = effective.find(operand.name);
  if (!given || operand.value.empty() || given->value == operand.value) return given;
  const bool unit = operand.name == "map-by" && split_map_by(given->value).policy == operand.value;
  return unit ? given : nullptr;
}

Result<void> settle_contradictions(ResolvedOptions& effective) {
  drop_overridden_by_table(effective);
  for (const Contradiction& row : kContradictions) {
    const ParsedOption* one = holds(effective, row.one);
    const ParsedOption* other = holds(effective, row.other);
    if (!one || !other) continue;
    if (one->source != other->source) {
      effective.drop(row.other_stays || one->source < other->source ? *one : *other);
      continue;
    }
    return fail(conflict(describe(*one, row.one), describe(*other, row.other), std::string(row.why)));
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
