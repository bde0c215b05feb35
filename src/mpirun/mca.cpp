#include "mpirun/mca.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"
#include "cli/setters.h"
#include "cli/values.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr string_view kPrefix = "OMPI_MCA_";
constexpr string_view kRuntimePrefix = "PRTE_MCA_";  // Open MPI 5, only for the runtime

/// The conversion of a key's value to the value of the option.
enum class Form {
  text,      ///< unchanged
  flag,      ///< true or false
  unless,    ///< false or true
  fail_soft  ///< true: continue, false: abort
};

struct Key {
  string_view key;
  string_view option;
  Form form = Form::text;
};

constexpr Key kOptions[] = {
    {"orte_abort_on_non_zero_status", "on-failure", Form::unless},
    {"orte_enable_recovery", "on-failure", Form::fail_soft},
    {"orte_tag_output", "tag-output", Form::flag},
    {"orte_timestamp_output", "timestamp-output", Form::flag},
    {"orte_output_filename", "output-filename"},
    {"orte_merge_stderr_to_stdout", "merge-stderr-to-stdout", Form::flag},
    {"iof_base_redirect_app_stderr_to_stdout", "merge-stderr-to-stdout", Form::flag},
    {"orte_execute_quiet", "quiet", Form::flag},
    {"orte_default_hostfile", "default-hostfile"},
    {"prte_default_hostfile", "default-hostfile"},
    {"orte_rankfile", "rankfile"},
    {"rmaps_rank_file_path", "rankfile"},
    {"rmaps_base_mapping_policy", "map-by"},
    {"rmaps_base_pattern", "map-by"},
    {"rmaps_base_ranking_policy", "rank-by"},
    {"rmaps_default_mapping_policy", "map-by"},
    {"rmaps_default_ranking_policy", "rank-by"},
    {"rmaps_base_oversubscribe", "oversubscribe", Form::flag},
    {"rmaps_base_no_oversubscribe", "oversubscribe", Form::unless},
    {"rmaps_base_n_pernode", "N"},
    {"rmaps_base_cpus_per_rank", "cores-per-rank"},
    {"rmaps_base_cpus_per_proc", "cores-per-rank"},
    {"rmaps_base_no_schedule_local", "nolocal", Form::flag},
    {"rmaps_base_display_map", "display-map", Form::flag},
    {"ras_base_display_alloc", "display-allocation", Form::flag},
    {"hwloc_base_binding_policy", "bind-to"},
    {"hwloc_default_binding_policy", "bind-to"},
    {"hwloc_default_cpu_list", "cpu-list"},
    {"hwloc_base_report_bindings", "report-bindings", Form::flag},
    {"hwloc_base_use_hwthreads_as_cpus", "use-hwthread-cpus", Form::flag},
    {"hwloc_base_cpu_list", "cpu-list"},
    {"hwloc_base_cpu_set", "cpu-list"},
    {"odls_base_sigkill_timeout", "grace"},
    {"plm_rsh_agent", "rsh-agent"},
    {"pls_rsh_agent", "rsh-agent"},
    {"orte_rsh_agent", "rsh-agent"},
    {"plm_ssh_agent", "rsh-agent"},
    {"plm_rsh_args", "rsh-args"},
    {"plm_ssh_args", "rsh-args"},
    {"plm_rsh_num_concurrent", "hosts-at-once"},
    {"plm_ssh_num_concurrent", "hosts-at-once"},
};

/// A key with an option for one of its values.
struct KeyAndValue {
  string_view key;
  string_view value;
  string_view option;
  string_view option_value;
};

constexpr KeyAndValue kValues[] = {
    {"rmaps", "seq", "map-by", "seq"},
    {"rmaps_base_pernode", "1", "N", "1"},
    {"rmaps_base_bynode", "1", "map-by", "node"},
    {"rmaps_base_byslot", "1", "map-by", "slot"},
    {"rmaps_base_bycore", "1", "map-by", "core"},
    {"rmaps_base_bysocket", "1", "map-by", "socket"},
};

/// Keys of Open MPI's runtime, which dlaunch replaces. A final '_' means all keys with this prefix.
constexpr string_view kRuntime[] = {"orte",   "orte_",   "prte_",  "plm",     "plm_",   "pls_",   "oob",    "oob_",
                                    "routed", "routed_", "rml",    "rml_",    "ras",    "ras_",   "rmaps",  "rmaps_",
                                    "odls",   "odls_",   "ess_",   "iof_",    "state",  "state_", "errmgr", "errmgr_",
                                    "regx",   "filem_",  "schizo", "schizo_", "grpcomm"};

/// Keys of Open MPI's library, which reads them in each rank.
constexpr string_view kLibrary[] = {
    "pml",   "pml_",      "btl",        "btl_",     "mtl",       "mtl_",        "osc",          "osc_",
    "coll",  "coll_",     "io",         "io_",      "fs",        "fs_",         "fbtl",         "fbtl_",
    "fcoll", "fcoll_",    "fcache_",    "sharedfp", "sharedfp_", "topo",        "topo_",        "bml",
    "bml_",  "rcache",    "rcache_",    "mpool",    "mpool_",    "allocator",   "allocator_",   "op",
    "op_",   "vprotocol", "vprotocol_", "hook",     "hook_",     "mpi_",        "ompi_",        "opal_",
    "pmix",  "pmix_",     "hwloc_",     "shmem",    "shmem_",    "if_",         "reachable",    "reachable_",
    "timer", "memory_",   "patcher",    "patcher_", "threads",   "accelerator", "accelerator_", "mca_"};

bool in_family(string_view key, std::span<const string_view> families) {
  return std::ranges::any_of(
      families, [&](string_view family) { return family.ends_with('_') ? key.starts_with(family) : key == family; });
}

/// Parses a truth value as Open MPI does.
std::optional<bool> truth(string_view value) {
  for (const string_view word : {"1", "true", "yes", "enabled", "t", "y"}) {
    if (value == word) return true;
  }
  for (const string_view word : {"0", "false", "no", "disabled", "f", "n"}) {
    if (value == word) return false;
  }
  if (const auto number = parse_int(value, -1, 1'000'000)) return *number != 0;
  return std::nullopt;
}

Result<std::string> option_value(const Key& key, string_view value) {
  if (key.form == Form::text) return std::string(value);
  const auto on = truth(value);
  if (!on) return bad_value(value, "flag", "1 or 0");
  if (key.form == Form::flag) return *on ? "true" : "false";
  const bool soft = key.form == Form::fail_soft ? *on : !*on;
  if (key.option == "on-failure") return soft ? "continue" : "abort";
  return soft ? "true" : "false";
}

struct Setting {
  string_view key;
  string_view value;
};

Setting split_setting(string_view text) {
  const size_t equals = text.find('=');
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The option for the setting; nullopt if the setting is not an option. `given` is the option of the command line.
Result<std::optional<ParsedOption>> as_option(const ParsedOption& given, Setting setting) {
  for (const KeyAndValue& row : kValues) {
    if (row.key == setting.key && row.value == setting.value) {
      return own_option(given, row.option, std::string(row.option_value));
    }
  }
  const auto key = std::ranges::find(kOptions, setting.key, &Key::key);
  if (key == std::end(kOptions)) return std::nullopt;
  if (key->option == "default-hostfile" && setting.value == "none")
    return std::nullopt;  // Open MPI: no default hostfile
  auto value = option_value(*key, setting.value);
  if (!value) {
    value.error().where = given.spelled;
    return fail(std::move(value).error());
  }
  return own_option(given, key->option, *std::move(value));
}

/// mca_base_env_list: NAME=VALUE or NAME, separated by ';'.
void add_env_list(const ParsedOption& given, string_view list, std::vector<ParsedOption>& made) {
  for (const std::string& item : split(list, ';')) {
    if (!item.empty()) made.push_back(own_option(given, "x", item));
  }
}

std::string without_effect(const ParsedOption& given) {
  return given.spelled + " changes nothing here: the key is for Open MPI's daemons";
}

/// Adds the option for the setting. Returns false if the setting is not an option.
Result<bool> add_option(const ParsedOption& given, Setting setting, Translated& made) {
  auto option = TRY(as_option(given, setting));
  if (!option) return false;
  made.here.push_back(*std::move(option));
  return true;
}

enum class Scope { one_program, all_programs };

Result<void> add_setting(const ParsedOption& origin, Setting setting, Scope scope, Translated& made) {
  ParsedOption given = origin;
  given.spelled.append(" ").append(setting.key);
  const auto is_option = TRY(add_option(given, setting, made));
  if (is_option) return {};
  std::vector<ParsedOption>& place = scope == Scope::one_program ? made.here : made.everywhere;
  if (setting.key == "mca_base_env_list") {
    add_env_list(given, setting.value, place);
  } else if (in_family(setting.key, kRuntime)) {
    made.notes.push_back(without_effect(given));
  } else {
    std::string variable(kPrefix);
    variable.append(setting.key).append("=").append(setting.value);
    place.push_back(own_option(given, "x", std::move(variable)));
    if (!in_family(setting.key, kLibrary)) {
      made.notes.push_back(given.spelled + ": unknown key, passed on to the ranks as " + std::string(kPrefix) +
                           std::string(setting.key));
    }
  }
  return {};
}

tl::unexpected<Error> bad_line(const TextLine& line) {
  return fail({.where = line.where, .what = "invalid line: expected KEY = VALUE", .why = "", .hint = ""});
}

Result<void> add_key_value(const ParsedOption& given, const TextLine& line, Translated& made) {
  const string_view text = trim(line.text);
  if (text.empty() || text.front() == '#') return {};
  const size_t equals = text.find('=');
  if (equals == string_view::npos || equals == 0) return bad_line(line);
  const Setting setting{trim(text.substr(0, equals)), trim(text.substr(equals + 1))};
  if (setting.key.find_first_of(" \t") != string_view::npos) return bad_line(line);
  return add_setting(given, setting, Scope::all_programs, made);
}

/// Words of a line: -x NAME=VALUE and -mca KEY VALUE, any number of them.
Result<void> add_words(const ParsedOption& given, const TextLine& line, Translated& made) {
  const auto words = split_words(line.text);
  if (!words) return bad_line(line);
  for (size_t at = 0; at < words->size();) {
    const string_view word = (*words)[at];
    const string_view name = word.substr(word.starts_with("--") ? 2 : 1);
    const bool variable = word.starts_with('-') && name == "x";
    const bool parameter = word.starts_with('-') && (name == "mca" || name == "gmca");
    if (!(variable && at + 1 < words->size()) && !(parameter && at + 2 < words->size())) {
      return fail({line.where, "invalid line: expected -x NAME=VALUE, -mca KEY VALUE or KEY = VALUE", "", ""});
    }
    if (variable) {
      made.everywhere.push_back(own_option(given, "x", (*words)[at + 1]));
      at += 2;
      continue;
    }
    const Setting setting{(*words)[at + 1], (*words)[at + 2]};
    TRY(add_setting(given, setting, Scope::all_programs, made));
    at += 3;
  }
  return {};
}

using AddLine = Result<void> (*)(const ParsedOption&, const TextLine&, Translated&);

Result<void> read_files(const ParsedOption& given, const ProcessContext& context, AddLine add, Translated& made) {
  for (const std::string& name : split(given.value, ',')) {
    const auto text = TRY(text_of_file(name, context));
    TRY(check_text(text, name));
    for (const TextLine& line : lines_of(text, name)) {
      ParsedOption at = given;
      at.spelled = line.where + ':';
      auto added = add(at, line, made);
      if (!added) return added;
    }
  }
  return {};
}

}  // namespace

Result<void> translate_mca(const ParsedOption& given, const ProcessContext&, Translated& made) {
  return add_setting(given, split_setting(given.value), Scope::one_program, made);
}

Result<void> translate_global_mca(const ParsedOption& given, const ProcessContext&, Translated& made) {
  return add_setting(given, split_setting(given.value), Scope::all_programs, made);
}

Result<void> translate_pmix_mca(const ParsedOption& given, const ProcessContext&, Translated& made) {
  made.everywhere.push_back(own_option(given, "x", "PMIX_MCA_" + given.value));
  return {};
}

Result<void> translate_prte_mca(const ParsedOption& origin, const ProcessContext&, Translated& made) {
  ParsedOption given = origin;
  const Setting setting = split_setting(origin.value);
  given.spelled.append(" ").append(setting.key);
  const auto is_option = TRY(add_option(given, setting, made));
  if (!is_option) made.notes.push_back(without_effect(given));
  return {};
}

Result<void> translate_mca_file(const ParsedOption& given, const ProcessContext& context, Translated& made) {
  return read_files(given, context, add_key_value, made);
}

Result<void> translate_tune_file(const ParsedOption& given, const ProcessContext& context, Translated& made) {
  const AddLine either = [](const ParsedOption& at, const TextLine& line, Translated& into) {
    return trim(line.text).starts_with('-') ? add_words(at, line, into) : add_key_value(at, line, into);
  };
  return read_files(given, context, either, made);
}

Result<std::vector<ParsedOption>> read_mca_variables(const std::vector<std::string>& environment) {
  std::vector<ParsedOption> made;
  if (variable(environment, "OMPI_COMM_WORLD_RANK") || variable(environment, "PMIX_RANK")) return made;
  for (const std::string& entry : environment) {
    if (!entry.starts_with(kPrefix) && !entry.starts_with(kRuntimePrefix)) continue;
    const Setting setting = split_setting(entry);
    ParsedOption given;
    given.spelled = given.origin = std::string(setting.key);
    given.source = Source::mca_variable;
    auto option = TRY(as_option(given, {setting.key.substr(kPrefix.size()), setting.value}));
    if (option && !setting.value.empty()) made.push_back(*std::move(option));
  }
  return made;
}

std::string rsh_command(string_view agent, string_view arguments) {
  // "ssh : rsh" means the first existing program: ssh.
  std::string command(trim(agent.substr(0, agent.find(" : "))));
  if (command.empty()) command = "ssh";
  const bool only_ssh = command == "ssh" || command == "/usr/bin/ssh";
  if (only_ssh && trim(arguments).empty()) return "";
  const string_view program = string_view(command).substr(0, command.find(' '));
  const bool ssh = program == "ssh" || program.ends_with("/ssh");
  if (ssh) command += " -T -o BatchMode=yes";
  if (!arguments.empty()) command.append(" ").append(trim(arguments));
  return command + " {host}";
}

}  // namespace dlaunch::cli
