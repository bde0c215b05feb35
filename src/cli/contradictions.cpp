// The pairs of options that exclude each other.
#include <string>

#include "base/text.h"
#include "cli/operand.h"
#include "cli/resolved_options.h"
#include "cli/values.h"
#include "place/place.h"

namespace dlaunch::cli {
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
    {"raw", "label tag-output timestamp-output color=always", kRawHasNoLines},
    {"raw", "format=jsonl", "both set the output format"},
    {"format=jsonl", "label tag-output timestamp-output", kRecordHasAll},
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

}  // namespace dlaunch::cli
