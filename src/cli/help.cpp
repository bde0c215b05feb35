#include "cli/help.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/command_line.h"
#include "cli/option_parser.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr std::array<std::pair<Section, string_view>, 9> kSections{{{Section::start, "Start"},
                                                                    {Section::place, "Place"},
                                                                    {Section::environment, "Environment"},
                                                                    {Section::output, "Output"},
                                                                    {Section::input, "Input"},
                                                                    {Section::binding, "Binding"},
                                                                    {Section::ending, "Ending"},
                                                                    {Section::look, "Look before you run"},
                                                                    {Section::configuration, "Configuration"}}};

constexpr string_view kUsage = "[options] program [args] [: [options] program [args]]...";
constexpr string_view kGroups =
    "Long names may have one dash or two. -x, --env-file, --wdir and -H before the first program hold for all,\n"
    "each may have its own; -n is each program's own; all other options stand before the first program.\n";
constexpr string_view kDefaults =
    "Defaults: ~/.config/dlaunch/config.toml (grace = 10), then DLAUNCH_GRACE=10; --pty=false unsets one. More: man "
    "dlaunch";

constexpr size_t kHelpColumn = 34;

/// "-n, --np, -c N", "--label[=TEMPLATE]".
std::string spelling(const OptionSpec& spec) {
  std::string text;
  for (const std::string& name : split(spec.names, ' ')) {
    if (!text.empty()) text += ", ";
    text += dashed(string_view(name).substr(name.starts_with('!') ? 1 : 0));
  }
  if (spec.takes == Arity::value) text += ' ' + std::string(spec.value_name);
  if (spec.takes == Arity::maybe_value) text += "[=" + std::string(spec.value_name) + ']';
  return text;
}

std::string meaning(const OptionSpec& spec) {
  std::string text(spec.help);
  if (!spec.standard.empty()) text += " (default: " + std::string(spec.standard) + ')';
  return text;
}

std::string help_line(const OptionSpec& spec) {
  std::string line = "  " + spelling(spec);
  if (line.size() + 1 < kHelpColumn) {
    line.resize(kHelpColumn, ' ');
  } else {
    line += '\n' + std::string(kHelpColumn, ' ');
  }
  return line + meaning(spec) + '\n';
}

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

std::string man_entry(const OptionSpec& spec) {
  std::string text = ".TP\n.B " + troff(spelling(spec)) + '\n' + troff(meaning(spec)) + ".\n";
  if (!spec.more.empty()) text += troff(spec.more) + '\n';
  if (spec.per_program()) text += "Belongs to one program of several.\n";
  return text;
}

constexpr string_view kManHead = R"(.SH DESCRIPTION
Starts N copies (ranks) of a program, tells each who it is, carries their output home in whole lines and ends them all
together: the first rank that fails ends the job, and its exit code is
.BR dlaunch 's.
.PP
The first word that is no option is the program; all after it is the program's, up to a lone
.B :
that begins the options of the next program.
.B \-\-
ends the options.
.BR \-x ,
.BR \-\-env\-file ,
.B \-\-wdir
and
.B \-H
before the first program hold for all programs; later ones add to them or win over them.
.B \-n
is each program's own.
All other options stand before the first program.
.SH HOSTS AND CHECK
.B dlaunch hosts
prints the hosts, the slots of each and where they came from, and its devices. Only a host whose slots nobody said is
reached for it.
.PP
.B dlaunch check
reaches every host, all side by side, and says of each: the agent, CPUs, devices, whether the directory is there and
where the program is found, how far its clock is off, free space in /dev/shm, the limit of open files, and whether it
knows its own name and that of every other host. It ends with 0 when all holds, with 125 when a host could not be
reached, else with 1.
.PP
Both take the options of a job;
.B \-\-format json
prints what they found as JSON. The word counts right after
.BR dlaunch :
a program of that name is run by
.B dlaunch \-\- check
or
.BR ./check .
)";

constexpr string_view kManTail = R"(.SH CONFIGURATION
.I ~/.config/dlaunch/config.toml
(below
.B $XDG_CONFIG_HOME
when that is set) holds a
.I name = value
line for each default, named as the option's first name above:
.PP
.nf
grace = 10
label = "[{rank}] "
tag\-output = false
.fi
.PP
A variable
.B DLAUNCH_NAME
(as
.BR DLAUNCH_GRACE=10 )
wins over the file, the command line over both; one that names no option is told and has no effect:
.B \-\-pty=false
turns off what they turned on.
.B \-\-show\-config
prints what holds and why.
.SH ENVIRONMENT
Each rank has
.B RANK_ID, RANK_SIZE, DEVICE_ID
and
.B DLAUNCH_JOB_ID, DLAUNCH_RANK, DLAUNCH_SIZE, DLAUNCH_LOCAL_RANK, DLAUNCH_LOCAL_SIZE, DLAUNCH_NODE_RANK,
.B DLAUNCH_NUM_NODES, DLAUNCH_HOST, DLAUNCH_DEVICE.
.SH EXIT STATUS
.TP
.B 0
every rank ended with 0
.TP
.I n
the first failing rank's own; 128+signal when a signal killed it
.TP
.B 1
the ranks' output or the record of \-\-report could not be written; what
.B dlaunch check
found does not hold
.TP
.B 2
the command line or the plan was refused, nothing was started
.TP
.B 124
\-\-timeout ran out
.TP
.B 125
a host could not be reached or was lost
.TP
.B 126, 127
the program cannot be executed, or was not found
.TP
.B 128+signal
a signal to dlaunch ended the job: 130 after Ctrl-C; 141 when the reader of its output went away
.SH EXAMPLES
.nf
dlaunch \-n 8 python3 train.py
dlaunch \-n 8 \-\-label \-\-output\-filename logs python3 train.py
dlaunch \-n 1 ./server : \-n 4 \-x ROLE=client ./client
dlaunch check \-\-hostfile hosts python3 train.py
dlaunch \-n 8 \-\-fake\-devices 8 \-\-dry\-run python3 train.py
.fi
.SH RANK TABLES
.B dlaunch ranktable make
writes the rank table of this host's Ascend devices,
.B check
says every rule that a table breaks,
.B merge
makes one table of several hosts'.
.B dlaunch ranktable \-\-help
lists their options. A program of that name is run by
.BR "dlaunch \-\- ranktable" .
.SH SEE ALSO
.BR mpirun (1)
)";

/// The format of --help and, in man(7) macros, of the man page, for options declared from the rows.
class RowFormatter final : public CLI::Formatter {
 public:
  explicit RowFormatter(bool man) : man_(man) {}

  void declare_row(CLI::App& app, const OptionSpec& spec, string_view group) {
    CLI::Option* const option = declare(app, spec, {}, {});
    option->group(std::string(group));
    rows_.emplace(option, &spec);
  }

  void set_usage(const CLI::App& app, string_view usage) { usages_[&app] = usage; }

  std::string make_option(const CLI::Option* option, bool) const override {
    const OptionSpec& spec = *rows_.at(option);
    return man_ ? man_entry(spec) : help_line(spec);
  }

  std::string make_group(std::string title, bool, std::vector<const CLI::Option*> options) const override {
    std::string text = man_ ? ".SS " + title + '\n' : title + ":\n";
    for (const CLI::Option* option : options) text += make_option(option, false);
    return text;
  }

  std::string make_description(const CLI::App*) const override { return ""; }  // it follows the usage

  std::string make_usage(const CLI::App* app, std::string path) const override {
    return man_ ? man_usage(app, path) : help_usage(app, path);
  }

  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override {
    std::string text;
    for (const CLI::App* below : app->get_subcommands({})) {
      const std::string groups = make_groups(below, mode);
      if (!groups.empty()) text += (text.empty() ? "" : "\n") + groups;
    }
    return text;
  }

 private:
  std::string help_usage(const CLI::App* app, const std::string& path) const {
    std::string text = "Usage: " + path + ' ' + std::string(usages_.at(app)) + '\n';
    for (const CLI::App* below : app->get_subcommands({})) {
      text += "       " + path + ' ' + below->get_name() + ' ' + std::string(usages_.at(below)) + ": " +
              below->get_description() + '\n';
    }
    return text + app->get_description() + '\n';
  }

  std::string man_usage(const CLI::App* app, const std::string& path) const {
    std::string text = ".TH DLAUNCH 1 \"\" \"dlaunch " DLAUNCH_VERSION "\" \"User Commands\"\n";
    text += ".SH NAME\ndlaunch \\- start, watch and end the ranks of a parallel program\n";
    text += ".SH SYNOPSIS\n.B " + path + '\n' + troff(usages_.at(app)) + '\n';
    for (const CLI::App* below : app->get_subcommands({})) {
      text += ".br\n.B " + path + '\n' + troff(below->get_name() + ' ' + std::string(usages_.at(below))) + '\n';
    }
    return text + std::string(kManHead) +
           ".SH OPTIONS\nLong names may have one dash or two.\nA value is the next word, or follows =.\n";
  }

  std::map<const CLI::Option*, const OptionSpec*> rows_;
  std::map<const CLI::App*, string_view> usages_;
  bool man_;
};

std::string job_page(bool man) {
  const auto formatter = std::make_shared<RowFormatter>(man);
  CLI::App app(std::string(kGroups), "dlaunch");
  app.set_help_flag();
  app.formatter(formatter);
  app.footer(std::string(man ? kManTail : kDefaults));
  formatter->set_usage(app, kUsage);
  for (const Subcommand& subcommand : subcommand_table()) {
    if (subcommand.rare && !man) continue;
    const CLI::App* const below = app.add_subcommand(std::string(subcommand.name), std::string(subcommand.what));
    formatter->set_usage(*below, subcommand.usage);
  }
  for (const auto& [section, title] : kSections) {
    for (const OptionSpec& spec : option_table()) {
      if (spec.section == section && (man || !spec.rare)) formatter->declare_row(app, spec, title);
    }
  }
  return app.help();
}

}  // namespace

std::string help_text() { return job_page(false); }

std::string man_page() { return CLI::detail::find_and_replace(job_page(true), "\n\n", "\n"); }

std::string help_text(const CommandSpec& command, const std::string& path) {
  const auto formatter = std::make_shared<RowFormatter>(false);
  CLI::App app("", path);
  app.set_help_flag();
  app.formatter(formatter);
  app.footer(std::string(command.notes));
  const auto declare_rows = [&](CLI::App& below, const CommandSpec& with, const std::string& title) {
    formatter->set_usage(below, with.usage);
    for (const CommandSpec::Option& option : with.options) formatter->declare_row(below, option.row, title);
  };
  declare_rows(app, command, "Options");
  for (const CommandSpec& below : command.commands) {
    const std::string name(below.name);
    declare_rows(*app.add_subcommand(name, std::string(below.what)), below, name);
  }
  std::string text = app.help();
  if (command.notes.empty()) text.pop_back();  // the empty line between options and notes
  return text;
}

std::string usage_hint() { return "usage: dlaunch " + std::string(kUsage) + "; --help lists the options"; }

}  // namespace dlaunch::cli
