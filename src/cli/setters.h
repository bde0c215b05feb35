// The setters of option_table() that are longer than one line. PURE, except for files that an option names:
// ProcessContext::read reads them.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "cli/option_spec.h"

namespace dlaunch::cli {

/// Stores a parsed value in `place`, or returns its Error.
template <class T, class Parsed>
Result<void> put(T& place, Result<Parsed> parsed) {
  if (!parsed) return fail(std::move(parsed).error());
  place = *std::move(parsed);
  return {};
}

inline Result<void> put_flag(bool& place, std::string_view value) {
  place = value == "true";
  return {};
}

/// Clears `where` in an Error of another module: the caller sets the option as typed.
inline Result<void> passed(Result<void> check) {
  if (!check) check.error().where.clear();
  return check;
}

/// `value` is N or MIN:MAX.
Result<void> set_nodes(SameLineRequest& request, std::string_view value);
Result<void> set_ranks(plan::AppRequest&, std::string_view, const ProcessContext&);
Result<std::optional<char>> escape_key(std::string_view);
Result<std::optional<std::chrono::milliseconds>> status_patience(std::string_view);
/// `value` is a number for all hosts, or a list with a number for each host.
Result<void> set_max_slots(Options&, std::string_view, const ProcessContext&);
Result<void> set_label(Options&, std::string_view, const ProcessContext&);
Result<void> set_format(Options&, std::string_view, const ProcessContext&);
/// The accepted values of --format.
std::vector<std::string> format_names();
Result<void> set_timeout(Options&, std::string_view, const ProcessContext&);
Result<void> set_wait_after_first(Options&, std::string_view, const ProcessContext&);
Result<void> set_files(Options&, std::string_view, const ProcessContext&);
Result<void> set_stream_file(Options&, output::Stream, std::string_view, const ProcessContext&);
Result<void> set_error_file(Options&, std::string_view, const ProcessContext&);
Result<void> set_fold(Options&, std::string_view, const ProcessContext&);
Result<void> set_raw(Options&, std::string_view, const ProcessContext&);
Result<void> add_variable(plan::AppRequest&, std::string_view, const ProcessContext&);
/// Reads the file that an option names.
Result<std::string> text_of_file(std::string_view path, const ProcessContext&);
Result<void> add_env_file(plan::AppRequest&, std::string_view, const ProcessContext&);
Result<void> set_hostfile(Options&, std::string_view, const ProcessContext&);
Result<void> set_default_hostfile(Options&, std::string_view, const ProcessContext&);
Result<void> set_rankfile(Options&, std::string_view, const ProcessContext&);
Result<void> set_rank_table(Options&, std::string_view, const ProcessContext&);
Result<void> set_product(Options&, std::string_view, const ProcessContext&);
/// The accepted values of --product.
std::vector<std::string> product_names();
Result<void> set_filter(std::string& place, std::string_view);
Result<void> set_agent_path(Options&, std::string_view, const ProcessContext&);
Result<void> set_rank_dir(Options&, std::string_view, const ProcessContext&);
Result<void> set_stage(Options&, std::string_view, const ProcessContext&);
Result<void> set_map_by(Options&, std::string_view, const ProcessContext&);
/// The accepted values of --map-by, without modifiers.
std::vector<std::string> map_by_names();
std::vector<std::string> fold_levels();
Result<int> console_rate(std::string_view value);
Result<void> set_cores_per_rank(Options&, std::string_view);
/// Sets the modifiers of "core:overload-allowed" and returns the unit, which may be empty.
Result<std::string_view> bind_unit(Options&, std::string_view);
Result<void> set_cpu_list(Options&, std::string_view, const ProcessContext&);
Result<void> set_transport(Options&, std::string_view);
/// The accepted values of --transport.
std::vector<std::string> transport_names();
Result<void> set_report_pid(Options&, std::string_view, const ProcessContext&);
Result<void> set_personality(Options&, std::string_view, const ProcessContext&);
Result<void> no_effect(Options&, std::string_view, const ProcessContext&);

}  // namespace dlaunch::cli
