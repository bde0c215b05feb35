// Options of mpirun, Hydra and PALS with another spelling in dlaunch, one row each, and the options of Open MPI 5 with
// a list of words. docs/migrate/mpirun.md lists them.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/option_spec.h"
#include "cli/values.h"
#include "mpirun/arguments.h"
#include "mpirun/mca.h"
#include "mpirun/translate.h"

namespace dlaunch::cli {
namespace {

using std::string_view;
using Context = const ProcessContext&;

struct Directive {
  string_view word;
  string_view option;
  string_view value;
};

constexpr Directive kOutput[] = {{"tag", "tag-output", "true"},
                                 {"timestamp", "timestamp-output", "true"},
                                 {"merge", "merge-stderr-to-stdout", "true"},
                                 {"merge-stderr-to-stdout", "merge-stderr-to-stdout", "true"},
                                 {"rank", "label", "[{rank}]<{stream}>: "},
                                 {"tag-detailed", "label", "[{host},{rank}]<{stream}>: "},
                                 {"tag-fullname", "tag-output", "true"},
                                 {"raw", "raw", "true"}};
constexpr Directive kDisplay[] = {{"map", "display-map", "true"},
                                  {"map-devel", "display-map", "true"},
                                  {"allocation", "display-allocation", "true"},
                                  {"alloc", "display-allocation", "true"},
                                  {"bind", "report-bindings", "true"},
                                  {"bindings", "report-bindings", "true"}};

/// Words of --rtos without an effect in dlaunch.
constexpr string_view kOfDaemons[] = {"showprogress",   "notifyerrors",          "autorestart",
                                      "aggregatehelp",  "aggregatehelpmessages", "reportstateontimeout",
                                      "fwdenvironment", "showloadprogress",      "getstacktraces"};

template <size_t N>
Result<void> take_directive(const ParsedOption& given, string_view word, const Directive (&table)[N],
                            Translated& made) {
  for (const Directive& row : table) {
    if (row.word != word) continue;
    made.here.push_back(own_option(given, row.option, std::string(row.value)));
    return {};
  }
  std::vector<std::string> known;
  for (const Directive& row : table) known.emplace_back(row.word);
  return unknown_word(word, known);
}

/// Open MPI 5's --output file=NAME, optionally with ":nocopy". ":pattern" changes the meaning of NAME.
Result<void> output_file(const ParsedOption& given, string_view name, Translated& made) {
  const size_t colon = std::min(name.rfind(':'), name.size());
  const string_view qualifier = name.substr(colon);
  const bool qualified = qualifier == ":nocopy" || qualifier == ":NOCOPY";
  if (qualifier == ":pattern" || qualifier == ":PATTERN") {
    return bad_value(name, "file name", "a name without :pattern; use --output-filename 'NAME.{rank}.{host}'");
  }
  std::string text = literal(qualified ? name.substr(0, colon) : name) + ".{rank}";
  if (qualified) text += ":nocopy";
  made.here.push_back(own_option(given, "output-filename", std::move(text)));
  return {};
}

/// --rtos and --runtime-options: words, some with =true.
Result<void> translate_runtime_options(const ParsedOption& given, const ProcessContext&, Translated& made) {
  for (const std::string& part : split(given.value, ',')) {
    const size_t equals = std::min(part.find('='), part.size());
    std::string word = part.substr(0, equals);
    std::erase_if(word, [](char c) { return c == '-' || c == '_'; });
    const bool on = equals == part.size() || part.substr(equals + 1) == "true" || part.substr(equals + 1) == "1";
    if (word == "donotlaunch") {
      if (on) made.here.push_back(own_option(given, "dry-run", "true"));
    } else if (word == "errornonzerostatus" || word == "errornonzeroexit" || word == "abortnonzeroexit") {
      made.here.push_back(own_option(given, "on-failure", on ? "abort" : "continue"));
    } else if (word == "recoverable" || word == "continuous") {
      if (on) made.here.push_back(own_option(given, "on-failure", "continue"));
    } else if (word == "timeout" && equals < part.size()) {
      made.here.push_back(own_option(given, "timeout", part.substr(equals + 1)));
    } else if (std::ranges::find(kOfDaemons, word) != std::end(kOfDaemons)) {
      note_of(given, "the option is for Open MPI's daemons", made);
    } else {
      return bad_value(part, "runtime option", "donotlaunch, errornonzerostatus, recoverable, continuous or timeout=S");
    }
  }
  return {};
}

/// --output tag,dir=D
Result<void> translate_output(const ParsedOption& given, const ProcessContext&, Translated& made) {
  for (const std::string& word : split(given.value, ',')) {
    if (word.starts_with("dir=")) {
      made.here.push_back(own_option(given, "output-filename", word.substr(word.find('=') + 1)));
    } else if (word.starts_with("file=")) {
      TRY(output_file(given, string_view(word).substr(word.find('=') + 1), made));
    } else if (word == "xml" || word == "proctable") {
      return fail({.where = "",
                   .what = "not supported: " + word,
                   .why = "",
                   .hint = word == "xml" ? "use --format jsonl: one JSON object per line"
                                         : "use --report FILE: host and pid of each rank"});
    } else if (auto taken = take_directive(given, word, kOutput, made); !taken) {
      return taken;
    }
  }
  return {};
}

/// --display map,bind
Result<void> translate_display(const ParsedOption& given, const ProcessContext&, Translated& made) {
  for (const std::string& word : split(given.value, ',')) {
    if (word == "topo" || word.starts_with("topo=") || word == "cpus") {
      note_of(given, "dlaunch does not print the topology; run lstopo on each host", made);
      continue;
    }
    TRY(take_directive(given, word, kDisplay, made));
  }
  return {};
}

/// For an option that requests dlaunch's only behavior.
Result<void> already_so(const ParsedOption&, Context, Translated&) { return {}; }

/// --prefix DIR: puts DIR/bin first in the ranks' PATH, and DIR/lib first in LD_LIBRARY_PATH.
Result<void> prefix(const ParsedOption& given, Context here, Translated& made) {
  const auto directory = TRY(absolute_path(given.value, here.cwd));
  const auto put_first = [&](string_view name, string_view below) {
    std::string value(name);
    value.append("=").append(directory).append(below);
    if (const auto old = filled_variable(here.environment, name)) value.append(":").append(*old);
    made.here.push_back(own_option(given, "x", std::move(value)));
  };
  put_first("PATH", "/bin");
  put_first("LD_LIBRARY_PATH", "/lib");
  return {};
}

/// -genvlist A,B and -envlist A,B
Result<void> add_each(const ParsedOption& given, std::vector<ParsedOption>& made) {
  for (std::string& name : split(given.value, ',')) made.push_back(own_option(given, "x", std::move(name)));
  return {};
}

/// Converts Hydra's pattern to a template. %t is valid only `with_time`.
Result<std::string> template_of(string_view pattern, bool with_time) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const char field = c == '%' && i + 1 < pattern.size() ? pattern[++i] : '\0';
    if (c != '%') {
      text += c;
      if (c == '{' || c == '}') text += c;
    } else if (field == 'r') {
      text += "{rank}";
    } else if (field == 'h') {
      text += "{host}";
    } else if (field == 't' && with_time) {
      text += "{time}";
    } else if (field == '%') {
      text += '%';
    } else {
      return bad_value(pattern, "pattern",
                       with_time ? "%r, %h, %t or %%; --label also has {local_rank}, {device} and {stream}"
                                 : "%r, %h or %%; --stdout-file also has {local_rank} and {device}");
    }
  }
  return text;
}

Result<void> pattern(string_view option, bool with_time, const ParsedOption& given, Translated& made) {
  auto text = TRY(template_of(given.value, with_time));
  made.here.push_back(own_option(given, option, with_time ? std::move(text) : without_suffixes(std::move(text))));
  return {};
}

/// --set-env NAME=VALUE, --prepend-env NAME VALUE, --append-env.
Result<void> extend_variable(const ParsedOption& given, Context here, bool before, Translated& made) {
  const size_t equals = given.value.find('=');
  const std::string name = given.value.substr(0, equals);
  std::string value = given.value.substr(equals + 1);
  if (const auto old = filled_variable(here.environment, name))
    value = before ? value + ":" + *old : *old + ":" + value;
  made.here.push_back(own_option(given, "x", name + "=" + value));
  return {};
}

/// Hydra's -iface: sets the same variable for the ranks as Hydra. dlaunch itself does not open a port.
Result<void> hydra_interface(const ParsedOption& given, Context, Translated& made) {
  made.everywhere.push_back(own_option(given, "x", "MPIR_CVAR_NEMESIS_TCP_NETWORK_IFACE=" + given.value));
  return {};
}

/// PALS's --mem-bind none.
Result<void> pals_no_binding(const ParsedOption& given, Context, Translated&) {
  if (given.value == "none") return {};
  return bad_value(given.value, "memory binding", "none; use --bind-to numa to bind ranks near their memory");
}

Result<void> in_report(const ParsedOption& given, Context, Translated& made) {
  return note_of(given, "--report FILE writes the exit code of each rank", made), Result<void>();
}

/// For an option of a feature that dlaunch does not have.
Result<void> missing_feature(const ParsedOption& given, Context, Translated& made) {
  return note_of(given, "dlaunch does not have this feature", made), Result<void>();
}

constexpr string_view kPair = "KEY VALUE";

// clang-format off
constexpr OptionSpec kForeign[] = {
    // mpirun
    {.names = "pernode", .stands_for = "N=1"},
    {.names = "bynode", .stands_for = "map-by=node"},
    {.names = "byslot", .stands_for = "map-by=slot"},
    {.names = "bycore", .stands_for = "map-by=core"},
    {.names = "bysocket", .stands_for = "map-by=socket"},
    {.names = "bind-to-core", .stands_for = "bind-to=core"},
    {.names = "bind-to-socket", .stands_for = "bind-to=socket"},
    {.names = "bind-to-none", .stands_for = "bind-to=none"},
    {.names = "cpus-per-proc cpus-per-rank", .takes = Arity::value, .value_name = "N",
     .stands_for = "cores-per-rank={}"},
    {.names = "ppr", .takes = Arity::value, .value_name = "N:node", .stands_for = "map-by=ppr:{}"},
    {.names = "cpu-set", .takes = Arity::value, .value_name = "LIST", .stands_for = "cpu-list={}"},
    {.names = "do-not-launch", .stands_for = "dry-run=true"},
    {.names = "disable-recovery", .stands_for = "on-failure=abort"},
    {.names = "output-directory", .takes = Arity::value, .value_name = "DIR", .stands_for = "output-filename={}"},
    {.names = "output", .takes = Arity::value, .value_name = "LIST", .translate = translate_output},
    {.names = "display", .takes = Arity::value, .value_name = "LIST", .translate = translate_display},
    {.names = "display-comm", .stands_for = "x=OMPI_MCA_ompi_display_comm=mpi_init"},
    {.names = "display-comm-finalize", .stands_for = "x=OMPI_MCA_ompi_display_comm=mpi_finalize"},
    {.names = "stream-buffering", .takes = Arity::value, .value_name = "0-2",
     .stands_for = "x=OMPI_MCA_ompi_stream_buffering={}"},
    {.names = "prefix", .takes = Arity::value, .value_name = "DIR", .translate = prefix},
    {.names = "mca omca", .takes = Arity::pair, .value_name = kPair, .translate = translate_mca},
    {.names = "gmca", .takes = Arity::pair, .value_name = kPair, .translate = translate_global_mca},
    {.names = "pmixmca gpmixmca", .takes = Arity::pair, .value_name = kPair, .translate = translate_pmix_mca},
    {.names = "prtemca", .takes = Arity::pair, .value_name = kPair, .translate = translate_prte_mca},
    {.names = "am", .takes = Arity::value, .value_name = "FILE", .translate = translate_mca_file},
    {.names = "tune", .takes = Arity::value, .value_name = "FILE", .translate = translate_tune_file},
    {.names = "rtos runtime-options", .takes = Arity::value, .value_name = "LIST", .translate = translate_runtime_options},
    {.names = "app-prefix", .takes = Arity::value, .value_name = "DIR", .translate = prefix},
    {.names = "set-env", .takes = Arity::value, .value_name = "NAME=VALUE", .stands_for = "x={}"},
    {.names = "prepend-env", .takes = Arity::pair, .value_name = "NAME VALUE",
     .translate = [](const ParsedOption& g, Context h, Translated& made) { return extend_variable(g, h, true, made); }},
    {.names = "append-env", .takes = Arity::pair, .value_name = "NAME VALUE",
     .translate = [](const ParsedOption& g, Context h, Translated& made) { return extend_variable(g, h, false, made); }},
    {.names = "gpu-support memory-alloc-kinds spawn-timeout soft arch", .takes = Arity::value, .value_name = "VALUE",
     .translate = missing_feature},
    {.names = "no-app-prefix fwd-environment do-not-aggregate-help", .translate = already_so},
    {.names = "novm noprefix leave-session-attached show-progress report-state-on-timeout get-stack-traces",
     .translate = already_so},
    // PALS
    {.names = "depth d", .takes = Arity::value, .value_name = "N", .translate = pals_depth},
    {.names = "cpu-bind", .takes = Arity::value, .value_name = "HOW", .translate = pals_binding},
    {.names = "no-vni line-buffer exclusive no-transfer", .translate = already_so},
    {.names = "rlimits", .takes = Arity::value, .value_name = "LIST", .translate = missing_feature},
    {.names = "mem-bind", .takes = Arity::value, .value_name = "none", .translate = pals_no_binding},
    // Hydra
    {.names = "perhost grr", .takes = Arity::value, .value_name = "N", .stands_for = "N={}"},
    {.names = "rr", .stands_for = "N=1"},
    {.names = "print-rank-map", .stands_for = "display-map=true"},
    {.names = "ordered-output", .translate = already_so},
    {.names = "print-all-exitcodes exitinfo", .translate = in_report},
    {.names = "topolib", .takes = Arity::value, .value_name = "hwloc", .translate = missing_feature},
    {.names = "iface", .takes = Arity::value, .value_name = "IF", .translate = hydra_interface},
    {.names = "binding", .takes = Arity::value, .value_name = "HOW", .translate = hydra_binding},
    {.names = "rmk", .takes = Arity::value, .value_name = "NAME", .translate = hydra_manager},
    {.names = "tune-mode tune-file", .takes = Arity::value, .value_name = "VALUE", .translate = missing_feature},
    {.names = "configfile", .takes = Arity::value, .value_name = "FILE", .stands_for = "app={}"},
    {.names = "genvnone envnone", .stands_for = "no-env=true"},
    {.names = "machinelist machines", .takes = Arity::value, .value_name = "LIST", .stands_for = "host={}"},
    {.names = "genv", .takes = Arity::assignment, .value_name = "NAME VALUE",
     .translate = [](const ParsedOption& g, Context, Translated& made) {
       made.everywhere.push_back(own_option(g, "x", g.value)); return Result<void>{}; }},
    {.names = "env", .takes = Arity::assignment, .value_name = "NAME VALUE", .stands_for = "x={}"},
    {.names = "genvlist", .takes = Arity::value, .value_name = "A,B",
     .translate = [](const ParsedOption& g, Context, Translated& made) { return add_each(g, made.everywhere); }},
    {.names = "envlist", .takes = Arity::value, .value_name = "A,B",
     .translate = [](const ParsedOption& g, Context, Translated& made) { return add_each(g, made.here); }},
    {.names = "genvall envall", .translate = already_so},
    {.names = "hostlist", .takes = Arity::value, .value_name = "LIST", .stands_for = "host={}"},
    {.names = "l prepend-rank", .stands_for = "label="},
    {.names = "prepend-pattern", .takes = Arity::value, .value_name = "PATTERN", 
     .translate = [](const ParsedOption& g, Context, Translated& made) { return pattern("label", true, g, made); }},
    {.names = "outfile-pattern outfile", .takes = Arity::value, .value_name = "PATTERN",
     .translate = [](const ParsedOption& g, Context, Translated& made) {
       return pattern("stdout-file", false, g, made); }},
    {.names = "errfile-pattern errfile", .takes = Arity::value, .value_name = "PATTERN",
     .translate = [](const ParsedOption& g, Context, Translated& made) {
       return pattern("stderr-file", false, g, made); }},
    {.names = "output-from", .takes = Arity::value, .value_name = "RANK", .stands_for = "ranks={}"},
    {.names = "launcher bootstrap", .takes = Arity::value, .value_name = "ssh", .translate = hydra_launcher},
    {.names = "launcher-exec bootstrap-exec", .takes = Arity::value, .value_name = "PROGRAM",
     .stands_for = "rsh-agent={}"},
    {.names = "skip-launch-node", .stands_for = "nolocal=true"},
    {.names = "disable-auto-cleanup dac", .stands_for = "on-failure=continue"},
    {.names = "enable-auto-cleanup", .stands_for = "on-failure=abort"},
};
// clang-format on

constexpr auto kForeignNames = sorted_names<kForeign>();

}  // namespace

bool is_word_of_hydra(string_view name) {
  const auto* const first = std::ranges::find(kForeign, "depth d", &OptionSpec::names);  // and all rows after it
  const bool known = std::any_of(first, std::end(kForeign),
                                 [&](const OptionSpec& row) { return find_name(row, name).spec != nullptr; });
  return known && name != "d";  // Open MPI's debugging
}

std::span<const OptionSpec> foreign_table() { return kForeign; }
std::span<const FoundOption> foreign_names() { return kForeignNames; }

}  // namespace dlaunch::cli
