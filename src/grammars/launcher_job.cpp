#include "grammars/launcher_job.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"
#include "cli/values.h"
#include "dlaunch/hostfile.h"
#include "mpirun/translate.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

Result<HostSlots> parse_slots_line(const TextLine& line) {
  const string_view text = trim(line.text);
  const size_t blank = std::min(text.find_first_of(" \t"), text.size());
  const string_view rest = trim(text.substr(blank));
  constexpr string_view kSlots = "slots=";
  const string_view number = rest.substr(std::min(kSlots.size(), rest.size()));
  const auto slots = parse_int(number.substr(0, number.find_first_not_of("0123456789")), 0, hosts::kMostSlots);
  std::string name(text.substr(0, blank));
  if (rest.starts_with(kSlots) && slots) return HostSlots{std::move(name), static_cast<int>(*slots)};
  return fail({.where = line.where,
               .what = "invalid line \"" + std::string(text) + '"',
               .why = "expected a host and its slots",
               .hint = "write " + name + " slots=8"});
}

}  // namespace

Result<std::vector<HostSlots>> parse_slots_file(string_view text, const std::string& path) {
  std::vector<HostSlots> hosts;
  for (const TextLine& line : lines_of(text, path)) {
    if (trim(line.text).empty() || trim(line.text).starts_with('#')) continue;
    auto host = TRY(parse_slots_line(line));
    if (std::ranges::find(hosts, host.name, &HostSlots::name) != hosts.end()) {
      return fail({.where = line.where,
                   .what = "duplicate host \"" + host.name + '"',
                   .why = "",
                   .hint = "remove one of the lines"});
    }
    hosts.push_back(std::move(host));
  }
  if (!hosts.empty()) return hosts;
  return fail({.where = path,
               .what = "missing host",
               .why = "the file has no host",
               .hint = "write one line per host: node1 slots=8"});
}

namespace {

using std::string_view;

/// Returns a shell command that executes these words.
std::string exec_line(const std::vector<std::string>& argv) {
  std::string line = "exec";
  for (const std::string& word : argv) line += " " + shell_quote(word);
  return line;
}

/// All ranks have the same argv: a shell inserts each rank's number.
std::vector<std::string> with_local_rank(const std::vector<std::string>& argv) {
  return {"sh", "-c", exec_line(argv) + " --local_rank=$LOCAL_RANK \"$@\"", "sh"};
}

bool is_of_name(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Splits a word at each place where Python's string.Template inserts the local rank. One part: no such place.
std::vector<std::string> around_local_rank(string_view word) {
  constexpr string_view kName = "local_rank";
  constexpr string_view kBraced = "{local_rank}";
  std::vector<std::string> parts(1);
  while (!word.empty()) {
    const string_view after = word.front() == '$' ? word.substr(1) : string_view();
    const bool named = after.starts_with(kName) && (after.size() == kName.size() || !is_of_name(after[kName.size()]));
    if (named || after.starts_with(kBraced)) {
      parts.emplace_back();
      word.remove_prefix(1 + (named ? kName : kBraced).size());
    } else {
      parts.back() += word.front();
      word.remove_prefix(after.starts_with('$') ? 2 : 1);  // "$$" means "$"
    }
  }
  return parts;
}

/// Replaces torchrun's `${local_rank}` in the arguments.
std::vector<std::string> with_macros(const std::vector<std::string>& argv, size_t first) {
  std::vector<std::string> plain(argv.begin(), argv.begin() + static_cast<std::ptrdiff_t>(first));
  std::string script = exec_line(plain);
  bool any = false;
  for (size_t i = first; i < argv.size(); ++i) {
    const auto parts = around_local_rank(argv[i]);
    any = any || parts.size() > 1;
    plain.push_back(parts.front());
    script += ' ';
    for (const std::string& part : parts) {
      if (&part != &parts.front()) script += "\"$LOCAL_RANK\"";
      if (!part.empty() || parts.size() == 1) script += shell_quote(part);
    }
  }
  return any ? std::vector<std::string>{"sh", "-c", script} : plain;
}

}  // namespace

ParsedOption LauncherJob::itself() const {
  const std::string name(launcher_.name);
  return {.spec = nullptr, .value = {}, .spelled = name, .origin = name, .source = Source::personality};
}

void LauncherJob::add(const ParsedOption& given, string_view option, std::string value) {
  group_.options.push_back(own_option(given, option, std::move(value)));
}

void LauncherJob::add_variable(const ParsedOption& given, string_view name, string_view value) {
  add(given, "x", std::string(name).append("=").append(value));
}

void LauncherJob::add_equals() {
  for (const ParsedOption& given : line_.options) {
    if (!given.spec->stands_for.empty() && line_.find(given.spec->name()) == &given) add(what_it_stands_for(given));
  }
}

void LauncherJob::add_nodes(const ParsedOption& given, const std::string& nodes, const ParsedOption* rank) {
  add(given, "same-line");
  add(given, "nodes", nodes);
  if (rank) add(*rank, "node-rank", rank->value);
}

void LauncherJob::forget(string_view variable) {
  if (filled_variable(context_.environment, variable)) forgotten_.emplace_back(variable);
}

std::string LauncherJob::in_path(std::initializer_list<string_view> programs) const {
  for (const string_view program : programs) {
    if (!context_.in_path || context_.in_path(std::string(program))) return std::string(program);
  }
  return std::string(*programs.begin());
}

Result<void> LauncherJob::set_program(const PythonProgram& how) {
  const std::vector<std::string>& words = line_.program;
  if (words.empty()) return set_program(std::vector<std::string>{});
  std::vector<std::string> argv;
  if (!how.python.empty()) argv = {how.python, "-u"};
  if (how.module) argv.emplace_back("-m");
  argv.push_back(words.front());
  if (how.local_rank) argv = with_local_rank(argv);
  const size_t before = argv.size();
  argv.insert(argv.end(), words.begin() + 1, words.end());
  return set_program(how.macros ? with_macros(argv, before) : std::move(argv));
}

Result<void> LauncherJob::take_over(const LauncherSpec& launcher, const LauncherLine& line) {
  LauncherJob other(launcher, line, context_, notes_);
  other.add_equals();
  TRY(launcher.make(other));
  Group made = other.take();
  std::ranges::move(made.options, std::back_inserter(group_.options));
  std::ranges::copy(other.forgotten(), std::back_inserter(forgotten_));
  return set_program(std::move(made.program));
}

Result<void> LauncherJob::set_program(std::vector<std::string> argv) {
  group_.program = std::move(argv);
  if (!group_.program.empty()) return {};
  return fail({.where = std::string(launcher_.name),
               .what = "missing program",
               .why = "",
               .hint = "put the program after the options"});
}

tl::unexpected<Error> refuse_option(const ParsedOption& given, std::string what, std::string why, std::string hint) {
  return fail({.where = given.spelled, .what = std::move(what), .why = std::move(why), .hint = std::move(hint)});
}

tl::unexpected<Error> refuse_value(const ParsedOption& given, string_view kind, string_view expected) {
  auto error = bad_value(given.value, kind, expected);
  error.value().where = given.spelled;
  return error;
}

tl::unexpected<Error> refuse_conflict(const ParsedOption& given, string_view other, std::string why, std::string hint) {
  return fail(conflict(given.spelled, other, std::move(why), std::move(hint)));
}

tl::unexpected<Error> refuse_without(const ParsedOption& given, string_view requirement, std::string why,
                                     std::string hint) {
  return requires_other(given.spelled, requirement, std::move(why), std::move(hint));
}

Result<int> number_of(const ParsedOption& given, int min, int max) {
  if (const auto number = parse_int(given.value, min, max)) return static_cast<int>(*number);
  return refuse_value(given, "number", std::to_string(min) + " to " + std::to_string(max));
}

}  // namespace dlaunch::cli
