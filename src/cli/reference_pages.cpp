// The generated references: dlaunch(1) and docs/options.md.
#include <string>
#include <string_view>

#include "base/text.h"
#include "cli/grammar.h"
#include "cli/help.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr size_t kPageWidth = 120;  // columns of docs

/// Escapes '-', which troff reads as a hyphen, '\', and a leading '.' or ''', which begin a request.
std::string troff(string_view text) {
  std::string escaped = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

/// Fills paragraphs, but keeps lines that begin with a space.
std::string troff_text(string_view text) {
  std::string out;
  bool verbatim = false;
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with(' ') != verbatim && !line.empty()) {
      verbatim = !verbatim;
      out += verbatim ? ".PP\n.nf\n" : ".fi\n.PP\n";
    }
    if (!line.empty()) {
      out += troff(line) + '\n';
    } else if (!verbatim) {
      out += ".PP\n";
    }
  }
  return out + (verbatim ? ".fi\n" : "");
}

std::string upper(string_view text) {
  std::string out;
  for (const char c : text) out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

std::string man_entry(const OptionSpec& spec) {
  std::string text = ".TP\n.B " + troff(spelling(spec)) + '\n' + troff(meaning(spec)) + ".\n";
  if (!spec.more.empty()) text += troff(spec.more) + '\n';
  if (spec.per_program()) text += "If a command has several programs (a : b), each program can have its own value.\n";
  return text;
}

constexpr string_view kManDescription = R"(.SH DESCRIPTION
dlaunch starts N copies (ranks) of a program on one or more hosts, gives each rank a number and a device, prints the
output line by line, and stops all ranks when one rank fails. The exit code is 0 if all ranks exit with 0, else the
code of the first rank that failed.
.PP
The program is the first word that is not an option. All words after the program are its arguments, up to a lone
.BR : ,
which begins the options of the next program.
.B \-\-
ends the options.
.BR \-x ,
.BR \-\-env\-file ,
.B \-\-wdir
and
.B \-H
before the first program apply to all programs. A later program can set these options again, to add values or to
override values. Each program has its own
.BR \-n .
All other options come before the first program.
.PP
A subcommand is the first word of the command line. To run a program with the same name, use
.B dlaunch \-\- check
or
.BR "dlaunch ./check" .
)";

constexpr string_view kManEnd = R"(.SH EXAMPLES
.nf
dlaunch \-n 8 python3 train.py
dlaunch \-n 8 \-\-label \-\-output\-filename logs python3 train.py
dlaunch \-n 1 ./server : \-n 4 \-x ROLE=client ./client
dlaunch check \-\-hostfile hosts python3 train.py
dlaunch \-n 8 \-\-fake\-devices 8 \-\-dry\-run python3 train.py
.fi
.SH SEE ALSO
.BR mpirun (1)
)";

constexpr string_view kOptionsHead = R"(# Options
All options of dlaunch, in the groups of `dlaunch --help-all`. `dlaunch help TOPIC` explains the options of one topic.

)";

constexpr string_view kOptionsRules =
    R"(- Long names may have one dash or two. The value of an option is the next word, or follows `=`.
- **Key**: the name of the option in the configuration file. For the key `grace`, write `grace = 10` in the file, or set
  the variable `DLAUNCH_GRACE=10`. If the key is a variable, such as `DLAUNCH_FORMAT`, the file cannot set the option.
  The command line overrides variables; variables override the file.
- `--pty=false` turns off a flag that the file or a variable turned on.
- *Each program*: in `a : b`, each program can have its own value. All other options come before the first program.
)";

/// Escapes each character of `special`.
std::string escaped(string_view text, string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != special.npos) out += '\\';
    out += c;
  }
  return out;
}

std::string markdown(string_view text) { return escaped(text, "|<*"); }

std::string variable_of(string_view name) {
  std::string text = "DLAUNCH_" + upper(name);
  for (char& c : text) c = c == '-' ? '_' : c;
  return text;
}

std::string key_cell(const OptionSpec& spec) {
  if (spec.preference) return '`' + std::string(spec.name()) + '`';
  if (spec.by_variable) return '`' + variable_of(spec.name()) + '`';
  return spec.per_program() || spec.also_later ? "each program" : "";
}

std::string option_row(const OptionSpec& spec) {
  return "| `" + escaped(spelling(spec), "|") + "` | " + markdown(spec.standard) + " | " + key_cell(spec) + " | " +
         markdown(help_line(spec)) + " |\n";
}

constexpr string_view kFamiliarHead = R"(
## Options of other launchers
dlaunch also accepts these options of torchrun, srun, msrun, accelerate, horovodrun and deepspeed. `_` may replace `-`
in the names. `--as` reads the whole command line of a launcher.

| option | same as | meaning |
|---|---|---|
)";

std::string other_launchers() {
  std::string text(kFamiliarHead);
  for (const OptionSpec& row : familiar_table()) {
    const SameOption same = same_option(row);
    text += "| `" + escaped(spelling(row), "|") + "` | `" + same.text + "` | " + markdown(same.spec->help) + " |\n";
  }
  return text;
}

/// "- `--grace`: text", wrapped.
std::string details(const OptionSpec& spec) {
  const std::string name = dashed(spec.shown.empty() ? spec.name() : spec.shown);
  const std::string text = wrapped('`' + name + "`: " + markdown(spec.more), 2, kPageWidth);
  return "- " + text.substr(2);
}

}  // namespace

std::string man_page() {
  std::string text = ".TH DLAUNCH 1 \"\" \"dlaunch " DLAUNCH_VERSION "\" \"User Commands\"\n";
  text += ".SH NAME\ndlaunch \\- start and monitor the ranks of a parallel program\n";
  text += ".SH SYNOPSIS\n.B dlaunch\n" + troff(kUsage) + '\n';
  for (const Subcommand& subcommand : subcommand_table()) {
    text += ".br\n.B dlaunch " + troff(subcommand.name) + '\n' + troff(subcommand.usage) + '\n';
  }
  text.append(kManDescription).append(".SH SUBCOMMANDS\n");
  for (const Subcommand& subcommand : subcommand_table()) {
    text += ".TP\n.B " + troff(subcommand.name) + '\n' + troff(subcommand.what) + ".\n";
  }
  text += ".SH OPTIONS\nLong names may have one dash or two.\nA value is the next word, or follows =.\n";
  text += troff(kTimeNote) + '\n';
  for (const OptionGroup& group : option_groups()) {
    text.append(".SS ").append(troff(group.title)).append("\n");
    for (const OptionSpec& spec : option_table()) {
      if (spec.section == group.section) text += man_entry(spec);
    }
  }
  for (const HelpPage& page : help_pages()) {
    text += ".SH " + troff(upper(page.title)) + '\n' + troff_text(reflowed(page.text));
  }
  return text.append(kManEnd);
}

std::string options_page() {
  std::string text(kOptionsHead);
  text += kOptionsRules;
  text += "- " + wrapped(kTimeNote, 2, kPageWidth).substr(2);
  for (const OptionGroup& group : option_groups()) {
    text.append("\n## ").append(group.title).append("\n| option | default | key | meaning |\n|---|---|---|---|\n");
    std::string list;
    for (const OptionSpec& spec : option_table()) {
      if (spec.section != group.section) continue;
      text += option_row(spec);
      if (!spec.more.empty()) list += details(spec);
    }
    if (!list.empty()) text += '\n' + list;
  }
  return text + other_launchers();
}

}  // namespace dlaunch::cli
