#include "cli/torchrun/log_tree.h"

#include <algorithm>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/launcher_job.h"
#include "cli/mpirun/translate.h"
#include "cli/values.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr const char* kPrefixVariable = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE";

/// 0 none, 1 stdout, 2 stderr, 3 both, for all ranks.
Result<int> streams_of(const ParsedOption* given) {
  if (!given) return 0;
  if (const auto streams = parse_int(given->value, 0, 3)) return static_cast<int>(*streams);
  auto wrong =
      bad_value(given->value, "is none of 0, 1, 2 and 3", "write one for all ranks; each rank has files of its own");
  wrong.value().where = given->spelled;
  return wrong;
}

/// Python's string.Template with torchrun's names, as a label.
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

/// DIR/ID_XXXXXXXX/attempt_0/{local_rank}, as torchrun names it.
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
  const ParsedOption* redirects = line.find("redirects");
  const ParsedOption* tee = line.find("tee");
  const int shown = TRY(streams_of(tee));
  const int redirected = TRY(streams_of(redirects));
  const int kept = redirected | shown;
  std::vector<ParsedOption> options;
  const ParsedOption* log_dir = line.find("log-dir");
  if (kept == 0 && !log_dir) return options;
  const std::string directory = directory_of(line, nodes, context);
  options.push_back(own_option(log_dir ? *log_dir : tee ? *tee : *redirects, "error-file", directory + "error.json"));
  for (const auto& [bit, option, file] :
       {std::tuple{1, "stdout-file", "stdout.log"}, {2, "stderr-file", "stderr.log"}}) {
    if ((kept & bit) == 0) continue;
    const bool copy = (shown & bit) != 0;
    options.push_back(own_option(copy ? *tee : *redirects, option, directory + file + (copy ? ":copy" : "")));
  }
  if (shown == 0) return options;
  const std::string role = line.value("role", "default");
  const std::string prefix =
      line.value("log-line-prefix-template",
                 filled_variable(context.environment, kPrefixVariable).value_or("[${role_name}${local_rank}]:"));
  options.push_back(own_option(*tee, "label", label_of(prefix, role)));
  return options;
}

}  // namespace dlaunch::cli
