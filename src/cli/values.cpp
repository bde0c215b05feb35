#include "cli/values.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <csignal>

#include "base/text.h"
#include "base/try.h"
#include "dlaunch/exit_status.h"
#include "output/file_layout.h"

namespace dlaunch::cli {
namespace {

constexpr double kMaxSeconds = 1e9;
constexpr int kMostExitCode = 255;

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// Applies what follows "DIR:"; several directives are separated by commas.
Result<void> apply_directives(std::string_view text, output::FileSettings& settings) {
  for (const std::string& directive : split(lower(text), ',')) {
    if (directive == "nocopy") {
      settings.copy = false;
    } else if (directive == "nojobid") {
      settings.job_directory = false;
    } else {
      return bad_value(text, "is no directive for the files",
                       "after the last ':' stands nocopy, nojobid or both with a comma; end the name in '/' when its "
                       "own last part holds a ':'");
    }
  }
  return {};
}

}  // namespace

tl::unexpected<Error> bad_value(std::string_view text, std::string_view wrong, std::string hint) {
  std::string what = "\"";
  what.append(text).append("\" ").append(wrong);
  return fail({.where = "", .what = std::move(what), .why = "", .hint = std::move(hint)});
}

Result<int> whole_number(std::string_view text, int min, int max) {
  if (const auto number = parse_int(text, min, max)) return static_cast<int>(*number);
  return bad_value(text, "is not a number that fits here",
                   "write a whole number from " + std::to_string(min) + " to " + std::to_string(max));
}

Result<PortRange> port_range(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = parse_int(text.substr(0, dash), 1, kMostPort);
  const auto last = dash == std::string_view::npos ? first : parse_int(text.substr(dash + 1), 1, kMostPort);
  if (first && last && *first <= *last) return PortRange{static_cast<int>(*first), static_cast<int>(*last)};
  return bad_value(text, "is no port and no range of them",
                   "write 5000 or 5000-5010, up to " + std::to_string(kMostPort));
}

Result<std::chrono::milliseconds> seconds(std::string_view text) {
  double value = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value, std::chars_format::fixed);
  if (error != std::errc{} || stop != end || !(value >= 0 && value <= kMaxSeconds) || std::signbit(value)) {
    return bad_value(text, "is not a number of seconds", "write seconds as 5 or 0.5");
  }
  return std::chrono::milliseconds(std::llround(std::ceil(value * 1000)));
}

Result<StdinTarget> stdin_target(std::string_view text) {
  if (text == "none") return StdinTarget{StdinTarget::Kind::none, 0};
  if (text == "all") return StdinTarget{StdinTarget::Kind::all, 0};
  if (const auto rank = parse_int(text, 0, kMaxRanks - 1))
    return StdinTarget{StdinTarget::Kind::rank, static_cast<int>(*rank)};
  return bad_value(text, "is neither none, all nor a rank", "write --stdin none, --stdin all or a rank, as --stdin 0");
}

Result<std::set<int>> rank_list(std::string_view text) {
  if (auto ranks = parse_int_list(text, kMaxRanks - 1)) return *std::move(ranks);
  return bad_value(text, "is not a list of ranks", "write ranks with commas and dashes, as 0,3-5");
}

Result<int> checkpoint_signal(std::string_view text) {
  const std::string_view name = text.starts_with("SIG") ? text.substr(3) : text;
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    const bool caught = signal != SIGKILL && signal != SIGSTOP && signal != SIGCHLD;
    if (caught && (signal_name(signal) == "SIG" + std::string(name) || std::to_string(signal) == text)) return signal;
  }
  return bad_value(text, "is not a signal that a program catches", "write its name, as USR1");
}

Result<int> stacks_signal(std::string_view text) {
  const std::string_view name = text.starts_with("SIG") ? text.substr(3) : text;
  for (const int signal : {SIGUSR1, SIGUSR2, SIGQUIT}) {
    if (signal_name(signal) == "SIG" + std::string(name) || std::to_string(signal) == text) return signal;
  }
  return bad_value(text,
                   "is not a signal that can ask for stacks: each other one means something else, or is not caught",
                   "write USR1, USR2 or QUIT");
}

Result<std::set<int>> exit_codes(std::string_view text) {
  if (text.empty()) return std::set<int>{};
  if (auto codes = parse_int_list(text, kMostExitCode)) return *std::move(codes);
  return bad_value(text, "is not a list of exit codes",
                   "write codes from 0 to 255 with commas and dashes, as 93,100-110");
}

Result<output::FileSettings> file_settings(std::string_view text, const std::string& cwd) {
  output::FileSettings settings;
  // A ':' counts only after the last '/' and outside of {…}, so that "a:b/" and "{time:…}" stay names.
  const size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && text.find_first_of("/}", colon) == std::string_view::npos) {
    TRY(apply_directives(text.substr(colon + 1), settings));
    text = text.substr(0, colon);
  }
  auto path = TRY(absolute_path(text, cwd));
  settings.target = std::move(path);
  if (!settings.job_directory && output::is_template(text)) {
    return bad_value(text, "is a template, for which nojobid does nothing", "leave nojobid out");
  }
  return settings;
}

Result<std::string> absolute_path(std::string_view path, const std::string& cwd) {
  if (path.empty()) return fail({.where = "", .what = "the path is empty", .why = "", .hint = "write a path"});
  if (path.front() == '/') return std::string(path);
  if (cwd.empty()) {
    return bad_value(path, "is relative, and the working directory is gone", "cd to a directory that exists");
  }
  return (cwd.back() == '/' ? cwd : cwd + '/') + std::string(path);
}

Result<plan::EnvSetting> env_setting(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  plan::EnvSetting setting{name, std::nullopt};
  if (equals != std::string_view::npos) setting.value = text.substr(equals + 1);
  if (name.empty()) {
    return fail({.where = "",
                 .what = "the variable has no name",
                 .why = "",
                 .hint = "write -x NAME, -x NAME=VALUE or -x 'PREFIX_*'"});
  }
  if (!setting.value && name.find(',') != std::string::npos) {
    return bad_value(name, "is not a variable's name", "write one -x for each variable");
  }
  const size_t star = name.find('*');
  if (star != std::string::npos && (setting.value || star + 1 != name.size())) {
    return bad_value(name, setting.value ? "names many variables and one value" : "has its '*' in the middle",
                     "a '*' may only end a name without a value, as -x 'PREFIX_*'");
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

tl::unexpected<Error> unknown_word(std::string_view text, const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return bad_value(text, "is not known here", "it takes one of " + list);
}

}  // namespace dlaunch::cli
