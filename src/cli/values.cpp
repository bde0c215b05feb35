#include "cli/values.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <csignal>
#include <memory>

#include "base/text.h"
#include "base/time.h"
#include "base/try.h"
#include "dlaunch/exit_status.h"
#include "output/file_layout.h"
#include "plan/table.h"

namespace dlaunch::cli {
namespace {

constexpr int kMostExitCode = 255;

/// Applies the directives after "NAME:", which commas separate.
Result<void> apply_directives(std::string_view text, std::string_view name, output::FileSettings& settings) {
  for (const std::string& directive : split(lower_case(text), ',')) {
    if (directive == "nocopy") {
      settings.copy = false;
    } else if (directive == "nojobid") {
      settings.job_directory = false;
    } else {
      return bad_value(directive, "directive", "nocopy or nojobid after the last ':'",
                       output::is_template(name) ? "remove the ':' from the file name"
                                                 : "add '/' to the end of the name if the directory name contains ':'");
    }
  }
  return {};
}

}  // namespace

tl::unexpected<Error> bad_value(std::string_view value, std::string_view kind, std::string_view expected,
                                std::string hint) {
  return fail(invalid_value(kind, value, expected, std::move(hint)));
}

tl::unexpected<Error> missing_value(std::string_view kind, std::string_view example) {
  return fail({"", "missing " + std::string(kind), "", example.empty() ? "" : "write " + std::string(example)});
}

Result<int> whole_number(std::string_view text, int min, int max) {
  if (const auto number = parse_int(text, min, max)) return static_cast<int>(*number);
  return bad_value(text, "number", std::to_string(min) + " to " + std::to_string(max));
}

Result<PortRange> port_range(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = parse_int(text.substr(0, dash), 1, kMostPort);
  const auto last = dash == std::string_view::npos ? first : parse_int(text.substr(dash + 1), 1, kMostPort);
  if (first && last && *first <= *last) return PortRange{static_cast<int>(*first), static_cast<int>(*last)};
  return bad_value(text, "port", "5000 or 5000-5010, from 1 to " + std::to_string(kMostPort));
}

Result<std::chrono::milliseconds> seconds(std::string_view text) {
  if (const auto duration = parse_duration(text)) return *duration;
  return bad_value(text, "duration", kDurationFormats);
}

Result<std::chrono::milliseconds> seconds_within(std::string_view text, std::chrono::milliseconds least,
                                                 std::chrono::milliseconds most, std::string_view range) {
  const auto duration = TRY(seconds(text));
  if (duration < least || duration > most) return bad_value(text, "duration", range);
  return duration;
}

Result<StdinTarget> stdin_target(std::string_view text) {
  for (const auto& [word, kind] : kStdinWords) {
    if (word == text) return StdinTarget{kind, 0};
  }
  if (const auto rank = parse_int(text, 0, kMaxRanks - 1))
    return StdinTarget{StdinTarget::Kind::rank, static_cast<int>(*rank)};
  return bad_value(text, "reader", "none, all or a rank");
}

Result<std::set<int>> rank_list(std::string_view text) {
  if (auto ranks = parse_int_list(text, kMaxRanks - 1)) return *std::move(ranks);
  return bad_value(text, "list of ranks", "ranks with commas and dashes, such as 0,3-5");
}

Result<int> checkpoint_signal(std::string_view text) {
  const std::string_view name = text.starts_with("SIG") ? text.substr(3) : text;
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    const bool caught = signal != SIGKILL && signal != SIGSTOP && signal != SIGCHLD;
    if (caught && (signal_name(signal) == "SIG" + std::string(name) || std::to_string(signal) == text)) return signal;
  }
  return bad_value(text, "signal", "the name of a signal that programs can catch, such as USR1");
}

Result<int> stacks_signal(std::string_view text) {
  const std::string_view name = text.starts_with("SIG") ? text.substr(3) : text;
  for (const auto& [word, signal] : kStacksSignals) {
    if (word == name || std::to_string(signal) == text) return signal;
  }
  return bad_value(text, "signal", "USR1, USR2 or QUIT");
}

Result<std::set<int>> exit_codes(std::string_view text) {
  if (text.empty()) return std::set<int>{};
  if (auto codes = parse_int_list(text, kMostExitCode)) return *std::move(codes);
  return bad_value(text, "list of exit codes", "codes from 0 to 255, such as 93,100-110");
}

bool looks_like_directive(std::string_view words) {
  return std::ranges::all_of(words, [](unsigned char c) { return std::isalpha(c) != 0 || c == ','; });
}

std::optional<std::string_view> take_suffix(std::string_view& name, bool (*is_suffix)(std::string_view)) {
  const size_t colon = name.rfind(':');
  if (colon == name.npos || name.find_first_of("/}", colon) != name.npos) return std::nullopt;
  const std::string_view suffix = name.substr(colon + 1);
  if (!is_suffix(suffix)) return std::nullopt;
  name = name.substr(0, colon);
  return suffix;
}

Result<output::FileSettings> file_settings(std::string_view text, const std::string& cwd) {
  output::FileSettings settings;
  for (auto words = take_suffix(text, [](auto) { return true; }); words;
       words = take_suffix(text, looks_like_directive)) {
    TRY(apply_directives(*words, text, settings));
  }
  auto path = TRY(absolute_path(text, cwd));
  settings.target = std::move(path);
  if (!settings.job_directory && output::is_template(text)) {
    return fail({.where = "",
                 .what = "nojobid conflicts with the template \"" + std::string(text) + '"',
                 .why = "nojobid omits the directory 1, but a template does not create this directory",
                 .hint = "remove nojobid"});
  }
  return settings;
}

Result<std::string> absolute_path(std::string_view path, const std::string& cwd) {
  if (path.empty()) return missing_value("path", "");
  if (path.front() == '/') return std::string(path);
  if (cwd.empty()) {
    return fail({.where = "",
                 .what = "cannot resolve \"" + std::string(path) + '"',
                 .why = "the working directory was removed",
                 .hint = "use an absolute path, or run dlaunch in another directory"});
  }
  return (cwd.back() == '/' ? cwd : cwd + '/') + std::string(path);
}

Result<plan::EnvSetting> env_setting(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  plan::EnvSetting setting{name, std::nullopt};
  if (equals != std::string_view::npos) setting.value = text.substr(equals + 1);
  if (name.empty()) {
    return missing_value("variable name", "-x NAME, -x NAME=VALUE or -x 'PREFIX_*'");
  }
  if (!setting.value && name.find(',') != std::string::npos) {
    return bad_value(name, "variable name", "one variable per -x");
  }
  const size_t star = name.find('*');
  if (star != std::string::npos && (setting.value || star + 1 != name.size())) {
    return bad_value(name, "variable name", "'*' only at the end of a name without a value: -x 'PREFIX_*'");
  }
  return setting;
}

MapBySpelling split_map_by(std::string_view text) {
  size_t end = text.find(':');
  for (int colon = 0; text.starts_with("ppr:") && colon < 2 && end < text.size(); ++colon)
    end = text.find(':', end + 1);
  end = std::min(end, text.size());
  const std::string_view policy = text.substr(0, end);
  return {policy == "package" ? "socket" : policy, text.substr(end)};
}

std::string literal(std::string_view text) {
  std::string made;
  for (const char c : text) {
    made += c;
    if (c == '{' || c == '}') made += c;
  }
  return made;
}

std::string without_suffixes(std::string name) {
  const size_t colon = name.rfind(':');
  return colon == name.npos || name.find('/', colon) != name.npos ? name : name + ':';
}

Result<void> check_template_fields(std::string_view text) {
  constexpr std::string_view kNameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  constexpr Word<std::string_view> kPlaceholders[] = {{"%r", "{rank}"},
                                                      {"%h", "{host}"},
                                                      {"$RANK", "{rank}"},
                                                      {"$RANK_ID", "{rank}"},
                                                      {"$DLAUNCH_RANK", "{rank}"},
                                                      {"$PMI_RANK", "{rank}"},
                                                      {"$PMIX_RANK", "{rank}"},
                                                      {"$OMPI_COMM_WORLD_RANK", "{rank}"},
                                                      {"$SLURM_PROCID", "{rank}"},
                                                      {"$LOCAL_RANK", "{local_rank}"},
                                                      {"$DLAUNCH_LOCAL_RANK", "{local_rank}"},
                                                      {"$OMPI_COMM_WORLD_LOCAL_RANK", "{local_rank}"},
                                                      {"$SLURM_LOCALID", "{local_rank}"},
                                                      {"$HOSTNAME", "{host}"}};
  for (size_t at = text.find_first_of("%$"); at != text.npos; at = text.find_first_of("%$", at + 1)) {
    const bool braces = text.substr(at).starts_with("${");
    const size_t begin = at + (braces ? 2 : 1);
    const size_t end = std::min(text.find_first_not_of(kNameCharacters, begin), text.size());
    const std::string name = text[at] + std::string(text.substr(begin, end - begin));
    for (const auto& [placeholder, field] : kPlaceholders) {
      if (name != placeholder) continue;
      return fail({.where = "",
                   .what = "unknown field \"" + std::string(text.substr(at, end + (braces ? 1 : 0) - at)) + '"',
                   .why = "",
                   .hint = "use " + std::string(field)});
    }
  }
  return {};
}

tl::unexpected<Error> unknown_word(std::string_view text, const std::vector<std::string>& words) {
  std::string list;
  for (size_t i = 0; i < words.size(); ++i) {
    list += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    list += words[i];
  }
  return bad_value(text, "value", list);
}

namespace {

using std::string_view;

constexpr std::int64_t kMemory = 1 << 20;  // of RE2's automata; RE2 discards states beyond this limit
constexpr size_t kShown = 200;             // columns of a pattern, and of RE2's message about the pattern
constexpr const char* kExample = "write a regular expression for RE2, such as 'step (\\d+)'";

RE2::Options bounded() {
  RE2::Options options(RE2::Latin1);  // bytes: a line may be invalid UTF-8
  options.set_log_errors(false);
  options.set_max_mem(kMemory);
  return options;
}

/// The first whole number in the text.
std::optional<std::int64_t> number_in(string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto* const begin = std::ranges::find_if(text, is_digit);
  std::int64_t number = 0;
  const auto read = std::from_chars(begin, text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> last_number(const RE2& pattern, string_view line) {
  const re2::StringPiece text(line.data(), line.size());
  const int groups = 1 + pattern.NumberOfCapturingGroups();
  std::optional<std::int64_t> last;
  std::size_t at = 0;
  for (int i = 0; i < kMostProgressMatches && at <= text.size(); ++i) {
    std::array<re2::StringPiece, 2> found;
    if (!pattern.Match(text, at, text.size(), RE2::UNANCHORED, found.data(), groups)) break;
    const re2::StringPiece& part = found.at(static_cast<std::size_t>(groups - 1));
    const bool negative = groups == 2 && part.starts_with("-");
    if (const auto number = number_in({part.data(), part.size()}); number && !negative) last = number;
    const auto end = static_cast<std::size_t>(found[0].data() - text.data()) + found[0].size();
    at = found[0].empty() ? end + 1 : end;
  }
  return last;
}

}  // namespace

Result<std::function<std::optional<std::int64_t>(string_view line)>> progress_pattern(string_view text) {
  const auto wrong = [&](const std::string& why) {
    return fail({"", "invalid pattern \"" + plan::shorten(text, kShown) + '"', plan::shorten(why, kShown), kExample});
  };
  if (text.empty()) return wrong("expected a pattern that is not empty");
  const auto pattern = std::make_shared<const RE2>(re2::StringPiece(text.data(), text.size()), bounded());
  if (!pattern->ok()) return wrong(pattern->error());
  if (pattern->NumberOfCapturingGroups() > 1) {
    return wrong("expected at most one group, found " + std::to_string(pattern->NumberOfCapturingGroups()) +
                 "; (?:…) does not count");
  }
  return [pattern](string_view line) { return last_number(*pattern, line); };
}

}  // namespace dlaunch::cli
