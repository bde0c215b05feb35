#include "cli/help.h"

#include <array>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/option_spec.h"

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

constexpr string_view kUsage = "dlaunch [options] program [args] [: [options] program [args]]...";

/// What the first word may be instead.
constexpr std::array<std::pair<string_view, string_view>, 2> kVerbs{
    {{"hosts [options]", "print the hosts, their slots and devices, and start nothing"},
     {"check [options] [program]", "reach every host, see that what the job needs is there, and start nothing"}}};

constexpr size_t kHelpColumn = 34;

/// "-n, --np, -c N", "--label[=TEMPLATE]".
std::string spelling(const OptionSpec& spec) {
  std::string text;
  for (const std::string& name : split(spec.names, ' ')) {
    if (!text.empty()) text += ", ";
    text += dashed(string_view(name).substr(name.starts_with('!') ? 1 : 0));
  }
  if (spec.takes == Takes::value) text += ' ' + std::string(spec.value_name);
  if (spec.takes == Takes::maybe_value) text += "[=" + std::string(spec.value_name) + ']';
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

/// troff reads '-' as a hyphen, '\' as an escape and a leading '.' or ''' as a request.
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

std::string man_options() {
  std::string text = ".SH OPTIONS\nLong names may have one dash or two.\nA value is the next word, or follows =.\n";
  for (const auto& [section, title] : kSections) {
    text += ".SS " + std::string(title) + '\n';
    for (const OptionSpec& spec : option_table()) {
      if (spec.section == section) text += man_entry(spec);
    }
  }
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

}  // namespace

std::string help_text() {
  std::string text = "Usage: " + std::string(kUsage) + '\n';
  for (const auto& [usage, what] : kVerbs)
    text += "       dlaunch " + std::string(usage) + ": " + std::string(what) + '\n';
  text +=
      "Long names may have one dash or two. -x, --env-file, --wdir and -H before the first program hold for all,\n"
      "each may have its own; -n is each program's own; all other options stand before the first program.\n";
  for (const auto& [section, title] : kSections) {
    text += '\n' + std::string(title) + ":\n";
    for (const OptionSpec& spec : option_table()) {
      if (spec.section == section && !spec.rare) text += help_line(spec);
    }
  }
  return text +
         "\nDefaults: ~/.config/dlaunch/config.toml (grace = 10), then DLAUNCH_GRACE=10, then the command line\n"
         "(--grace 10; --pty=false turns off what they turned on). Rank tables: dlaunch ranktable --help. More: man "
         "dlaunch\n";
}

std::string man_page() {
  std::string text = ".TH DLAUNCH 1 \"\" \"dlaunch " DLAUNCH_VERSION "\" \"User Commands\"\n";
  text += ".SH NAME\ndlaunch \\- start, watch and end the ranks of a parallel program\n";
  text += ".SH SYNOPSIS\n.B dlaunch\n" + troff(kUsage.substr(kUsage.find(' ') + 1)) + '\n';
  for (const auto& [usage, what] : kVerbs) text += ".br\n.B dlaunch\n" + troff(usage) + '\n';
  return text + std::string(kManHead) + man_options() + std::string(kManTail);
}

std::string usage_hint() { return "usage: " + std::string(kUsage) + "; --help lists the options"; }

}  // namespace dlaunch::cli
