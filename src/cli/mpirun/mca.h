// Open MPI's MCA parameters: `-mca KEY VALUE`, -am and -tune files, OMPI_MCA_KEY in the environment. What its launcher
// reads becomes an option here, or has no effect and a note says so. What its library reads is passed on to the ranks
// as OMPI_MCA_KEY. The table in mca.cpp decides. PURE, except for the files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/mpirun/translate.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

/// -mca (for one program) and -gmca (for all): OptionSpec::translate.
Result<void> translate_mca(const ParsedOption& given, const ProcessContext& context, Translated& made);
Result<void> translate_global_mca(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// -pmixmca sets PMIX_MCA_KEY for the ranks. -prtemca concerns the runtime that dlaunch replaces: it becomes an option,
/// or nothing.
Result<void> translate_pmix_mca(const ParsedOption& given, const ProcessContext& context, Translated& made);
Result<void> translate_prte_mca(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// -am FILE[,FILE]: `key = value` lines.
Result<void> translate_mca_file(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// -tune FILE[,FILE]: such lines, or lines of -x NAME=VALUE and -mca KEY VALUE.
Result<void> translate_tune_file(const ParsedOption& given, const ProcessContext& context, Translated& made);

/// The options for which OMPI_MCA_* variables of the launcher's environment stand. Those of an outer Open MPI job are
/// that job's own and are ignored. (The ranks get all of them with the environment.)
Result<std::vector<ParsedOption>> read_mca_variables(const std::vector<std::string>& environment);

/// The command, with {host} in it, that plm_rsh_agent and plm_rsh_args put before `sh` to reach a host. Empty: they say
/// no more than "ssh", so dlaunch's own ssh is used.
std::string rsh_command(std::string_view agent, std::string_view arguments);

}  // namespace dlaunch::cli
