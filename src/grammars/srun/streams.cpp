#include <algorithm>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/values.h"
#include "grammars/launcher_job.h"
#include "grammars/srun/srun.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr int kMostWidth = 20;

/// The value of a field such as %j in this job; nullopt: unknown field.
std::optional<std::string> of_job(char field, const ProcessContext& context) {
  const auto set = [&](const char* name, const char* otherwise) {
    return filled_variable(context.environment, name).value_or(otherwise);
  };
  std::string job = set("SLURM_JOB_ID", "0");
  switch (field) {
    case 'j':
      return job;
    case 'J':
      return job + ".0";
    case 's':
      return "0";
    case 'A':
      return set("SLURM_ARRAY_JOB_ID", job.c_str());
    case 'a':
      return set("SLURM_ARRAY_TASK_ID", "4294967294");
    case 'u':
      return set("USER", "user");
    case 'x':
      return set("SLURM_JOB_NAME", "job");
    case '%':
      return "%";
    default:
      return std::nullopt;
  }
}

std::string zero_padded_to(std::string text, long width) {
  const bool number = text.find_first_not_of("0123456789") == std::string::npos;
  const auto all = static_cast<size_t>(width);
  if (number && text.size() < all) text.insert(0, all - text.size(), '0');
  return text;
}

/// The replacements of %t and %N.
struct RankFields {
  string_view task;
  string_view node;
};

/// Expands a pattern of -o, -e or -i. A width pads numbers of the job, and with -i also the rank.
Result<std::string> expand_pattern(const ParsedOption& given, const ProcessContext& context, RankFields fields,
                                   std::string (*plain)(string_view)) {
  string_view rest = given.value;
  std::string text;
  if (rest.find('\\') != rest.npos) {  // srun then expands no field
    std::string name(rest);
    std::erase(name, '\\');
    return plain(name);
  }
  while (!rest.empty()) {
    const size_t percent = std::min(rest.find('%'), rest.size());
    text += plain(rest.substr(0, percent));
    rest.remove_prefix(percent);
    if (rest.empty()) break;
    const size_t end = std::min(rest.find_first_not_of("0123456789", 1), rest.size() - 1);
    const long width = parse_int(rest.substr(1, end - 1), 0, kMostWidth).value_or(0);
    const char field = rest[end];
    rest.remove_prefix(end + 1);
    if (field == 't' && width > 0 && fields.task.starts_with('$')) {
      text += "$(printf %0" + std::to_string(width) + "d " + std::string(fields.task) + ")";
    } else if (field == 't') {
      if (width > 0) return refuse_option(given, "not supported: a width with %t", "", "use %t");
      text += fields.task;
    } else if (field == 'N') {
      text += fields.node;
    } else if (const auto known = of_job(field, context)) {
      text += plain(zero_padded_to(*known, width));
    } else {
      return refuse_option(given, std::string("unknown field \"%") + field + "\"", "",
                           "use %t, %N, %j, %J, %s, %A, %a, %u, %x or %%");
    }
  }
  return text;
}

class SrunStreams {
 public:
  SrunStreams(LauncherJob& job, std::vector<std::string>& argv, int ranks)
      : job_(job), line_(job.line()), argv_(argv), ranks_(ranks) {}

  Result<void> add() {
    TRY(read_mode());
    const ParsedOption* pty = line_.find("pty");
    if (pty) {
      job_.add(*pty, "pty");
      job_.add(*pty, "ranks", "0");
    }
    const ParsedOption* label = line_.find("label");
    if (label && !pty) job_.add(*label, "label", "{rank}: ");
    if (const ParsedOption* unbuffered = line_.find("unbuffered"); unbuffered && !label) job_.add(*unbuffered, "raw");
    TRY(add_output());
    return add_input(pty);
  }

 private:
  /// The console. srun also means the console for longer names, such as all.log; dlaunch writes such a file.
  static bool is_all(const ParsedOption* given) {
    return !given || given->value.empty() || given->value == "-" || lower_case(given->value) == "all";
  }
  static bool is_none(const ParsedOption& given) { return lower_case(given.value) == "none"; }
  /// Larger numbers are file names.
  bool is_rank(const ParsedOption& given) const { return parse_int(given.value, 0, ranks_ - 1).has_value(); }

  Result<std::string> file_of(const ParsedOption& given) const {
    if (is_none(given)) return std::string("/dev/null");
    return expand_pattern(given, job_.context(), {"{rank}", "{host}"}, literal);
  }

  /// --open-mode: "a", "append", "t" or "truncate", without case.
  Result<void> read_mode() {
    const ParsedOption* mode = line_.find("open-mode");
    const std::string how = mode ? lower_case(mode->value) : "truncate";
    append_ = how == "a" || how == "append";
    if (append_ || how == "t" || how == "truncate") return {};
    return refuse_value(*mode, "mode", "append or truncate");
  }

  /// Adds the option with the file name, and :append with --open-mode=append.
  void add_file(const ParsedOption& given, string_view option, std::string file) {
    file = without_suffixes(std::move(file));
    if (append_ && file != "/dev/null") file += ":append";
    job_.add(given, option, std::move(file));
  }

  Result<void> add_output() {
    const ParsedOption* out = line_.find("output");
    const ParsedOption* err = line_.find("error");
    for (const ParsedOption* given : {out, err}) {
      if (is_all(given) || !is_rank(*given)) continue;
      if (given == err || !is_all(err)) {
        return refuse_option(*given, "not supported: printing only stdout or only stderr of one rank", "",
                             "use dlaunch's --ranks N to print both streams of rank N");
      }
      job_.add(*given, "ranks", given->value);
      return {};
    }
    if (!is_all(out)) {
      auto file = TRY(file_of(*out));
      add_file(*out, "stdout-file", std::move(file));
      if (!err) job_.add(*out, "merge-stderr-to-stdout");
    }
    if (!is_all(err)) {
      auto file = TRY(file_of(*err));
      add_file(*err, "stderr-file", std::move(file));
    }
    return {};
  }

  Result<void> add_input(const ParsedOption* pty) {
    const ParsedOption* given = line_.find("input");
    if (is_all(given)) {
      if (pty) job_.add(*pty, "stdin", "0");
      return {};
    }
    if (is_none(*given)) return job_.add(*given, "stdin", "none"), Result<void>();
    if (is_rank(*given)) return job_.add(*given, "stdin", given->value), Result<void>();
    const auto quoted = [](string_view text) { return text.empty() ? std::string() : shell_quote(text); };
    const auto file = TRY(expand_pattern(*given, job_.context(), {"$SLURM_PROCID", "$(hostname -s)"}, quoted));
    std::vector<std::string> reader = {"sh", "-c", "exec \"$@\" <" + file, "sh"};
    argv_.insert(argv_.begin(), reader.begin(), reader.end());
    return job_.add(*given, "stdin", "none"), Result<void>();
  }

  LauncherJob& job_;
  const LauncherLine& line_;
  std::vector<std::string>& argv_;
  const int ranks_;
  bool append_ = false;
};

}  // namespace

Result<void> add_srun_streams(LauncherJob& job, std::vector<std::string>& argv, int ranks) {
  return SrunStreams(job, argv, ranks).add();
}

}  // namespace dlaunch::cli
