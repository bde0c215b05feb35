#include "cli/script.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

/// The options of an interpreter before the script. Letters are short options.
struct Interpreter {
  string_view names;            // without a version
  string_view with_value;       // the value is the rest of the word, or the next word
  string_view with_next;        // the value is the next word
  string_view with_rest;        // the optional value is the rest of the word
  string_view instead;          // options without a script
  string_view long_with_value;  // --name VALUE; --name=VALUE needs no row
  string_view long_instead;
  bool is_shell = false;  // +x is an option, and a lone - ends the options
  bool in_path = false;
};

constexpr Interpreter kInterpreters[] = {
    {.names = "python pypy",
     .with_value = "QWX",
     .with_next = "",
     .with_rest = "",
     .instead = "cmhV",
     .long_with_value = "check-hash-based-pycs",
     .long_instead = "help version"},
    {.names = "bash sh ksh",
     .with_value = "",
     .with_next = "oO",
     .with_rest = "",
     .instead = "cs",
     .long_with_value = "rcfile init-file",
     .long_instead = "help version",
     .is_shell = true,
     .in_path = true},
    {.names = "dash ash zsh",
     .with_value = "",
     .with_next = "o",
     .with_rest = "",
     .instead = "cs",
     .long_with_value = "",
     .long_instead = "help version",
     .is_shell = true},
    {.names = "perl",
     .with_value = "I",
     .with_next = "",
     .with_rest = "DFimMx",
     .instead = "eEhSvV",
     .long_with_value = "",
     .long_instead = "help version"},
    {.names = "julia",
     .with_value = "CHJLpt",
     .with_next = "",
     .with_rest = "gO",
     .instead = "eEhmv",
     .long_with_value = "cpu-target home sysimage load procs threads machine-file",
     .long_instead = "eval print module help version"},
    {.names = "ruby",
     .with_value = "CEIr",
     .with_next = "",
     .with_rest = "FiKx",
     .instead = "ehSv",
     .long_with_value = "",
     .long_instead = "help version"},
    {.names = "Rscript",
     .with_value = "",
     .with_next = "",
     .with_rest = "",
     .instead = "e",
     .long_with_value = "",
     .long_instead = "help version"},
    {.names = "lua luajit",
     .with_value = "el",
     .with_next = "",
     .with_rest = "",
     .instead = "v",
     .long_with_value = "",
     .long_instead = ""},
};

bool lists(string_view words, string_view word) {
  const std::vector<std::string> known = split(words, ' ');
  return !word.empty() && std::ranges::find(known, word) != known.end();
}

/// "python" for "/usr/bin/python3.11".
string_view without_version(string_view program) {
  program.remove_prefix(program.rfind('/') + 1);
  return program.substr(0, program.find_last_not_of("0123456789.") + 1);
}

const Interpreter* interpreter_of(string_view program) {
  const string_view name = without_version(program);
  const auto found = std::ranges::find_if(kInterpreters, [&](const auto& each) { return lists(each.names, name); });
  return found == std::end(kInterpreters) ? nullptr : found;
}

enum class Word { alone, takes_next, no_script };

Word long_option(const Interpreter& interpreter, string_view name) {
  const size_t equals = name.find('=');
  if (lists(interpreter.long_instead, name.substr(0, equals))) return Word::no_script;
  const bool takes_next = equals == string_view::npos && lists(interpreter.long_with_value, name);
  return takes_next ? Word::takes_next : Word::alone;
}

Word short_options(const Interpreter& interpreter, string_view letters) {
  const auto is_in = [](char letter, string_view set) { return set.find(letter) != string_view::npos; };
  bool takes_next = false;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (is_in(letters[i], interpreter.instead)) return Word::no_script;
    if (is_in(letters[i], interpreter.with_rest)) break;
    if (is_in(letters[i], interpreter.with_next)) takes_next = true;
    if (!is_in(letters[i], interpreter.with_value)) continue;
    takes_next = i + 1 == letters.size();
    break;
  }
  return takes_next ? Word::takes_next : Word::alone;
}

bool is_option(const Interpreter& interpreter, string_view word) {
  return word.starts_with('-') || (interpreter.is_shell && word.starts_with('+'));
}

}  // namespace

std::optional<Script> script_of(const std::vector<std::string>& argv) {
  const Interpreter* interpreter = argv.empty() ? nullptr : interpreter_of(argv.front());
  if (!interpreter) return std::nullopt;
  size_t at = 1;
  while (at < argv.size() && is_option(*interpreter, argv[at])) {
    const string_view word = argv[at++];
    if (word == "-" && !interpreter->is_shell) return std::nullopt;  // stdin
    if (word == "-" || word == "--") break;
    const Word kind = word.starts_with("--") ? long_option(*interpreter, word.substr(2))
                                             : short_options(*interpreter, word.substr(1));
    if (kind == Word::no_script) return std::nullopt;
    if (kind == Word::takes_next) ++at;
  }
  if (at >= argv.size() || argv[at].empty()) return std::nullopt;
  return Script{argv[at], interpreter->in_path};
}

}  // namespace dlaunch::cli
