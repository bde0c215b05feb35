// Collects dlaunch's options and the program for another launcher's command line. The functions at the end make the
// Errors for options of other launchers. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/option_parser.h"
#include "cli/option_spec.h"
#include "dlaunch/error.h"
#include "dlaunch/port_range.h"
#include "grammars/launcher_line.h"

namespace dlaunch::cli {

// The hostfile format of DeepSpeed and Horovod: only lines NAME slots=N. PURE.

struct HostSlots {
  std::string name;
  int slots = 0;
};

/// Returns the hosts in the file's order, at least one. Skips blank lines and lines that begin with '#'. A duplicate
/// host is an Error.
Result<std::vector<HostSlots>> parse_slots_file(std::string_view text, const std::string& path);

/// The start of a Python script.
struct PythonProgram {
  std::string python;       ///< the interpreter; empty: not a Python program
  bool module = false;      ///< the first word is a module
  bool local_rank = false;  ///< adds `--local_rank=L` before the arguments
  bool macros = false;      ///< replaces `${local_rank}` in the arguments, and `$$` by `$`
};

/// Refers to the arguments of the constructor, which must outlive the job.
class LauncherJob {
 public:
  LauncherJob(const LauncherSpec& launcher, const LauncherLine& line, const ProcessContext& context,
              std::vector<std::string>& notes)
      : launcher_(launcher), line_(line), context_(context), notes_(notes) {}

  const LauncherLine& line() const { return line_; }
  const ProcessContext& context() const { return context_; }

  /// The launcher as the source of a dlaunch option that no option of the line requests.
  ParsedOption itself() const;
  /// Adds an option of dlaunch.
  void add(const ParsedOption& given, std::string_view option, std::string value = "true");
  /// Adds an option of dlaunch or mpirun.
  void add(ParsedOption option) { group_.options.push_back(std::move(option)); }
  /// Adds -x NAME=VALUE.
  void add_variable(const ParsedOption& given, std::string_view name, std::string_view value);
  /// Adds dlaunch's option for each given option with OptionSpec::stands_for.
  void add_equals();
  /// Adds --same-line for `nodes` nodes. Without `rank`, the environment has this node's number.
  void add_nodes(const ParsedOption& given, const std::string& nodes, const ParsedOption* rank);
  /// Removes a variable from the job's environment.
  void forget(std::string_view variable);
  void note(std::string text) { notes_.push_back(std::move(text)); }

  /// Returns the first program in PATH, or the first program if all are missing.
  std::string in_path(std::initializer_list<std::string_view> programs) const;
  Result<void> set_program(const PythonProgram& how);
  Result<void> set_program(std::vector<std::string> argv);

  /// Adds all options and the program of another launcher's line.
  Result<void> take_over(const LauncherSpec& launcher, const LauncherLine& line);

  Group take() { return std::move(group_); }
  const std::vector<std::string>& forgotten() const { return forgotten_; }

 private:
  const LauncherSpec& launcher_;
  const LauncherLine& line_;
  const ProcessContext& context_;
  std::vector<std::string>& notes_;
  Group group_;
  std::vector<std::string> forgotten_;
};

tl::unexpected<Error> refuse_option(const ParsedOption& given, std::string what, std::string why, std::string hint);
/// `OPTION: invalid KIND "VALUE": expected EXPECTED`
tl::unexpected<Error> refuse_value(const ParsedOption& given, std::string_view kind, std::string_view expected);
/// `OPTION conflicts with OTHER: WHY`; `why` may be empty.
tl::unexpected<Error> refuse_conflict(const ParsedOption& given, std::string_view other, std::string why,
                                      std::string hint);
/// `OPTION requires REQUIREMENT: WHY`; `requirement` is an option or a condition, `why` may be empty.
tl::unexpected<Error> refuse_without(const ParsedOption& given, std::string_view requirement, std::string why,
                                     std::string hint);
Result<int> number_of(const ParsedOption& given, int min, int max);

}  // namespace dlaunch::cli
