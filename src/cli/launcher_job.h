// dlaunch's own options and the program that another launcher's line amounts to, while they are gathered, and how what
// cannot be meant is refused. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/launcher_line.h"
#include "cli/option_parser.h"
#include "cli/option_spec.h"
#include "dlaunch/error.h"
#include "dlaunch/port_range.h"

namespace dlaunch::cli {

/// How a Python script is started.
struct PythonProgram {
  std::string python;       ///< empty: the program is none of Python's
  bool module = false;      ///< its first word names a module
  bool local_rank = false;  ///< `--local_rank=L` stands before its own arguments
  bool macros = false;      ///< `${local_rank}` in its own arguments is each rank's, and `$$` a dollar
};

/// It refers to all that it is given, which must outlive it.
class LauncherJob {
 public:
  LauncherJob(const LauncherSpec& launcher, const LauncherLine& line, const ProcessContext& context,
              std::vector<std::string>& notes)
      : launcher_(launcher), line_(line), context_(context), notes_(notes) {}

  const LauncherLine& line() const { return line_; }
  const ProcessContext& context() const { return context_; }

  /// The launcher as the source of what no option of its line says.
  ParsedOption itself() const;
  /// An option of dlaunch's own.
  void add(const ParsedOption& given, std::string_view option, std::string value = "true");
  /// An option of dlaunch's own, or one of mpirun's.
  void add(ParsedOption option) { group_.options.push_back(std::move(option)); }
  /// -x NAME=VALUE
  void add_variable(const ParsedOption& given, std::string_view name, std::string_view value);
  /// The options that stand for one of dlaunch's each.
  void add_equals();
  /// The same line is started on so many nodes; without `rank` the place says which one this is.
  void add_nodes(const ParsedOption& given, const std::string& nodes, const ParsedOption* rank);
  /// The job knows nothing of this variable of the environment.
  void forget(std::string_view variable);
  void note(std::string text) { notes_.push_back(std::move(text)); }

  /// The first of these that is in PATH, else the first.
  std::string in_path(std::initializer_list<std::string_view> programs) const;
  Result<void> set_program(const PythonProgram& how);
  Result<void> set_program(std::vector<std::string> argv);

  /// All that a line of another launcher amounts to.
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
tl::unexpected<Error> refuse_value(const ParsedOption& given, std::string_view wrong, std::string hint);
Result<int> number_of(const ParsedOption& given, int min, int max);

/// Braces as they stand in a template.
std::string literal(std::string_view text);

}  // namespace dlaunch::cli
