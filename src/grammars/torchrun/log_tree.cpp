#include "grammars/torchrun/log_tree.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/values.h"
#include "grammars/launcher_job.h"
#include "grammars/mpirun/translate.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr const char* kPrefixVariable = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE";

constexpr int kStdout = 1;
constexpr int kStderr = 2;

/// Local ranks of a host.
struct LocalRanks {
  bool all = false;
  std::set<int> some = {};

  bool none() const { return !all && some.empty(); }
  bool operator==(const LocalRanks&) const = default;
};

/// The ranks whose stdout or stderr -r or -t writes to files.
struct KeptStreams {
  const ParsedOption* given = nullptr;
  LocalRanks out = {};
  LocalRanks err = {};

  const LocalRanks& of(int stream) const { return stream == kStdout ? out : err; }
};

/// Parses "3" (0 none, 1 stdout, 2 stderr, 3 both; for all ranks) or "0:3,1:2" (per local rank).
Result<KeptStreams> streams_of(const ParsedOption* given) {
  KeptStreams kept{.given = given};
  if (!given) return kept;
  for (const std::string& part : split(given->value, ',')) {
    const size_t colon = part.find(':');
    const bool all = colon == part.npos;
    const auto rank = all ? std::optional(0L) : parse_int(trim(string_view(part).substr(0, colon)), 0, kMaxRanks);
    const auto streams = parse_int(trim(string_view(part).substr(all ? 0 : colon + 1)), 0, kStdout | kStderr);
    if (!rank || !streams || (all && part.size() != given->value.size())) {
      return refuse_value(*given, "streams", "0 to 3 for all ranks, or 0:3,1:2 for local ranks");
    }
    for (const auto& [stream, ranks] : {std::pair{kStdout, &kept.out}, {kStderr, &kept.err}}) {
      if ((*streams & stream) == 0) continue;
      ranks->all = all;
      if (!all) ranks->some.insert(static_cast<int>(*rank));
    }
  }
  return kept;
}

std::string list_of(const LocalRanks& ranks) { return fold_ints(ranks.some); }

/// The directives after the file name. -r writes a stream only to files; -t also prints the stream.
Result<std::string> file_directives(const KeptStreams& redirects, const KeptStreams& tee, int stream) {
  const LocalRanks& kept = redirects.of(stream);
  const LocalRanks& shown = tee.of(stream);
  if (shown.none()) return std::string(kept.all ? "" : ":local=" + list_of(kept));
  if (shown.all || kept.all) return std::string(":copy");
  if (std::ranges::includes(shown.some, kept.some)) return ":local=" + list_of(shown) + ":copy";
  return refuse_conflict(*tee.given, "--redirects", "the options select different ranks",
                         "use --redirects 3, or the same ranks for both");
}

/// The ranks to print if all ranks have files. Empty: all ranks.
Result<LocalRanks> shown_of_all(const KeptStreams& redirects, const KeptStreams& tee) {
  const auto chooses = [&](int stream) { return redirects.of(stream).all && !tee.of(stream).some.empty(); };
  if (!chooses(kStdout) && !chooses(kStderr)) return LocalRanks{};
  if (tee.out == tee.err && redirects.out.all && redirects.err.all) return tee.out;
  return refuse_option(*tee.given, "not supported: one stream of some ranks", "",
                       "use 3 (both streams) for these ranks, with --redirects 3");
}

/// Returns the label for a Python string.Template: replaces ${rank}, ${local_rank}, ${role_name} and ${hostname} with
/// fields of the label or with text.
std::string label_of(string_view text, const std::string& role) {
  const std::pair<string_view, std::string> names[] = {
      {"role_name", literal(role)}, {"local_rank", "{local_rank}"}, {"rank", "{rank}"}, {"hostname", "{host}"}};
  std::string label;
  while (!text.empty()) {
    const auto named = std::ranges::find_if(
        names, [&](const auto& each) { return text.starts_with("${" + std::string(each.first) + "}"); });
    if (named == std::end(names)) {
      label += literal(text.substr(0, 1));
      text.remove_prefix(1);
    } else {
      label += named->second;
      text.remove_prefix(named->first.size() + 3);
    }
  }
  return label;
}

/// DIR/ID_XXXXXXXX/attempt_0/{local_rank}/, the directory that torchrun uses.
std::string directory_of(const LauncherLine& line, int nodes, const ProcessContext& context) {
  std::string id = line.find("standalone") ? "standalone" : line.value("rdzv-id", "none");
  std::ranges::replace(id, '/', '_');
  const std::string temporary = filled_variable(context.environment, "TMPDIR").value_or("/tmp");
  const std::string base = line.value("log-dir", temporary + "/torchelastic_" + context.random_name);
  return literal(base + "/" + id + "_" + context.random_name) + (nodes > 1 ? "/{host}" : "") + "/attempt_" +
         (line.value("max-restarts", "0") != "0" ? "{round}" : "0") + "/{local_rank}/";
}

}  // namespace

Result<std::vector<ParsedOption>> log_options(const LauncherLine& line, int nodes, const ProcessContext& context) {
  const auto redirects = TRY(streams_of(line.find("redirects")));
  const auto tee = TRY(streams_of(line.find("tee")));
  std::vector<ParsedOption> options;
  const ParsedOption* log_dir = line.find("log-dir");
  const bool shows = !tee.out.none() || !tee.err.none();
  if (!shows && redirects.out.none() && redirects.err.none() && !log_dir) return options;
  const std::string directory = directory_of(line, nodes, context);
  const ParsedOption& first = log_dir ? *log_dir : tee.given ? *tee.given : *redirects.given;
  options.push_back(own_option(first, "error-file", directory + "error.json"));
  for (const auto& [stream, option, file] :
       {std::tuple{kStdout, "stdout-file", "stdout.log"}, {kStderr, "stderr-file", "stderr.log"}}) {
    if (redirects.of(stream).none() && tee.of(stream).none()) continue;
    const auto directives = TRY(file_directives(redirects, tee, stream));
    const ParsedOption& given = tee.of(stream).none() ? *redirects.given : *tee.given;
    options.push_back(own_option(given, option, directory + file + directives));
  }
  if (!shows) return options;
  const auto chosen = TRY(shown_of_all(redirects, tee));
  if (!chosen.none()) options.push_back(own_option(*tee.given, "local-ranks", list_of(chosen)));
  const std::string role = line.value("role", "default");
  const std::string prefix =
      line.value("log-line-prefix-template",
                 filled_variable(context.environment, kPrefixVariable).value_or("[${role_name}${local_rank}]:"));
  options.push_back(own_option(*tee.given, "label", label_of(prefix, role)));
  return options;
}

}  // namespace dlaunch::cli
