#include "grammars/mpirun/lists.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/try.h"
#include "cli/values.h"
#include "grammars/launcher_job.h"
#include "grammars/mpirun/hydra.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

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

}  // namespace

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

}  // namespace dlaunch::cli
