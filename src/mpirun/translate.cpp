#include "mpirun/translate.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "cli/values.h"

namespace dlaunch::cli {
namespace {

Result<void> translate(const ParsedOption& given, const ProcessContext& context, Translated& made) {
  const OptionSpec& spec = *given.spec;
  const bool off = spec.takes == Arity::nothing && given.value == "false";
  if (off) return {};
  if (spec.translate) return spec.translate(given, context, made);
  if (!spec.stands_for.empty()) made.here.push_back(what_it_stands_for(given));
  return {};
}

/// The path in Open MPI 5's --map-by rankfile:FILE=PATH; empty for another value or option.
std::string rankfile_of(const ParsedOption& given) {
  constexpr std::string_view kWords = "rankfile:file=";
  if (given.spec != find_option("map-by").spec || given.value.size() <= kWords.size()) return {};
  const bool same =
      std::ranges::equal(std::string_view(given.value).substr(0, kWords.size()), kWords,
                         [](char c, char word) { return (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) == word; });
  return same ? given.value.substr(kWords.size()) : "";
}

/// Open MPI accepts policies in upper and lower case: --map-by NUMA:PE=2.
void lower_policy(ParsedOption& given) {
  for (const std::string_view name : {"map-by", "rank-by", "bind-to"}) {
    if (given.spec != find_option(name).spec) continue;
    for (char& c : given.value) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
}

bool is_foreign(const ParsedOption& given) { return given.spec->translate || !given.spec->stands_for.empty(); }

}  // namespace

ParsedOption own_option(const ParsedOption& given, std::string_view name, std::string value) {
  ParsedOption own = given;
  own.spec = find_option(name).spec;
  own.value = std::move(value);
  return own;
}

ParsedOption what_it_stands_for(const ParsedOption& given) {
  const std::string_view text = given.spec->stands_for;
  const size_t equals = text.find('=');
  std::string value(text.substr(equals + 1));
  if (const size_t braces = value.find("{}"); braces != std::string::npos) value.replace(braces, 2, given.value);
  return own_option(given, text.substr(0, equals), std::move(value));
}

Result<void> translate_options(std::vector<Group>& groups, const ProcessContext& context,
                               std::vector<std::string>& notes) {
  Translated made;
  for (Group& group : groups) {
    made.here.clear();
    for (ParsedOption& given : group.options) {
      if (std::string path = rankfile_of(given); !path.empty()) {
        made.here.push_back(own_option(given, "rankfile", std::move(path)));
        continue;
      }
      const bool bound_as_hydra = is_hydra_bind_to(given);
      if (!bound_as_hydra) lower_policy(given);
      if (!is_foreign(given) && !bound_as_hydra) {
        made.here.push_back(std::move(given));
        continue;
      }
      if (auto done = bound_as_hydra ? hydra_binding(given, context, made) : translate(given, context, made); !done) {
        Error error = done.error();
        if (error.where.empty()) error.where = given.spelled;
        if (!group.where.empty()) error.where = group.where + ": " + error.where;
        return fail(std::move(error));
      }
    }
    group.options = made.here;
  }
  for (Group& group : groups) {
    group.options.insert(group.options.begin(), made.everywhere.begin(), made.everywhere.end());
  }
  for (std::string& note : made.notes) {
    if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
  }
  return {};
}

namespace {

using std::string_view;
using Context = const ProcessContext&;

constexpr string_view kTransportIsChosen =
    "dlaunch uses the transport of the batch system, else ssh; use --transport to choose another";

/// Lists of hardware threads: `turn` separates the ranks of a host, `between` the threads of one rank.
Result<void> cpu_turns(const ParsedOption& given, string_view list, char turn, char between, Translated& made) {
  std::string turns;
  for (const std::string& rank : split(list, turn)) {
    std::string cpus;
    for (const std::string& part : split(rank, between)) cpus += (cpus.empty() ? "p" : ",p") + part;
    turns += (turns.empty() ? "" : "/") + cpus;
  }
  made.here.push_back(own_option(given, "cpu-list", std::move(turns)));
  return {};
}

}  // namespace

void note_of(const ParsedOption& given, string_view why, Translated& made) {
  made.notes.push_back(given.spelled + " " + given.value + " changes nothing here: " + std::string(why));
}

Result<void> hydra_launcher(const ParsedOption& given, Context, Translated& made) {
  if (given.value == "ssh" || given.value == "fork") return {};
  constexpr string_view kManagers[] = {"slurm", "srun", "ll",     "lsf",  "blaunch",
                                       "sge",   "pbs",  "pbsdsh", "pdsh", "cobalt"};
  if (std::ranges::find(kManagers, given.value) != std::end(kManagers)) {
    return note_of(given, kTransportIsChosen, made), Result<void>();
  }
  return bad_value(given.value, "launcher", "ssh, slurm, lsf, sge or pbs; --exec COMMAND runs any other program");
}

Result<void> hydra_manager(const ParsedOption& given, Context, Translated& made) {
  return note_of(given, "dlaunch detects Slurm, Grid Engine, PBS, Cobalt and LSF by their variables", made),
         Result<void>();
}

Result<void> hydra_binding(const ParsedOption& given, Context, Translated& made) {
  const string_view value = given.value;
  if (value.starts_with("user:")) return cpu_turns(given, value.substr(value.find(':') + 1), ',', '+', made);
  constexpr std::pair<string_view, string_view> kUnits[] = {
      {"rr", "hwthread"},    {"cpu", "hwthread"}, {"thread", "hwthread"}, {"none", "none"},   {"board", "socket"},
      {"sockets", "socket"}, {"cores", "core"},   {"numanode", "numa"},   {"domain", "numa"}, {"machine", "none"}};
  const string_view named = value.substr(0, value.find(':'));
  const auto* const unit = std::ranges::find(kUnits, named, &std::pair<string_view, string_view>::first);
  const string_view meant = unit == std::end(kUnits) ? named : unit->second;
  made.here.push_back(own_option(given, "bind-to", std::string(meant)));
  if (named.size() == value.size()) return {};
  const string_view count = value.substr(named.size() + 1);
  const auto number = parse_int(count, 1, kMaxRanks);
  if (!number) return bad_value(value, "binding", "UNIT:N for N units per rank, such as core:2");
  if (*number == 1) return {};
  if (meant != "core" && meant != "hwthread") {
    return bad_value(value, "binding", "core:N or hwthread:N; a rank gets at most one " + std::string(named));
  }
  made.here.push_back(own_option(given, "cores-per-rank", std::string(count)));
  if (meant == "hwthread") made.here.push_back(own_option(given, "use-hwthread-cpus", "true"));
  return {};
}

bool is_hydra_bind_to(const ParsedOption& given) {
  if (given.spec != find_option("bind-to").spec) return false;
  const string_view value = given.value;
  const size_t colon = value.find(':');
  const bool counts =
      colon != value.npos && colon + 1 < value.size() && value.find_first_not_of("0123456789", colon + 1) == value.npos;
  return counts || value.starts_with("user:") || value == "rr" || value == "machine";
}

Result<void> pals_binding(const ParsedOption& given, Context, Translated& made) {
  string_view value = given.value;
  for (const string_view word : {"verbose,", "v,", "quiet,", "q,"}) {
    if (!value.starts_with(word)) continue;
    if (word.front() == 'v') made.here.push_back(own_option(given, "report-bindings", "true"));
    value.remove_prefix(word.size());
  }
  if (value.starts_with("list:")) return cpu_turns(given, value.substr(value.find(':') + 1), ':', ',', made);
  constexpr std::pair<string_view, string_view> kUnits[] = {{"none", "none"}, {"thread", "hwthread"}, {"core", "core"},
                                                            {"numa", "numa"}, {"socket", "socket"},   {"user", "none"}};
  if (value == "depth") return {};  // --depth binds
  const auto* const unit = std::ranges::find(kUnits, value, &std::pair<string_view, string_view>::first);
  if (unit == std::end(kUnits)) {
    return bad_value(value, "binding", "depth, list:0-3:4-7, core, thread, numa, socket or none");
  }
  made.here.push_back(own_option(given, "bind-to", std::string(unit->second)));
  return {};
}

Result<void> pals_depth(const ParsedOption& given, Context, Translated& made) {
  if (!parse_int(given.value, 1, kMaxRanks)) {
    return bad_value(given.value, "number of threads", "a whole number from 1; use -v or -vv to debug");
  }
  made.here.push_back(own_option(given, "cores-per-rank", given.value));
  made.here.push_back(own_option(given, "use-hwthread-cpus", "true"));
  return {};
}

}  // namespace dlaunch::cli
