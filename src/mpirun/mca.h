// Open MPI's MCA parameters: `-mca KEY VALUE`, -am and -tune files, OMPI_MCA_KEY in the environment. Keys of Open MPI's
// launcher become options, or a note states that they change nothing. Keys of the MPI library are passed on to the
// ranks as OMPI_MCA_KEY. The tables in mca.cpp list the keys. PURE, except for the files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "mpirun/translate.h"

namespace dlaunch::cli {

/// -mca (for one program) and -gmca (for all): OptionSpec::translate.
Result<void> translate_mca(const ParsedOption& given, const ProcessContext& context, Translated& made);
Result<void> translate_global_mca(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// -pmixmca sets PMIX_MCA_KEY for the ranks. -prtemca is for Open MPI's runtime: the key becomes an option, or a note.
Result<void> translate_pmix_mca(const ParsedOption& given, const ProcessContext& context, Translated& made);
Result<void> translate_prte_mca(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// -am FILE[,FILE]: `key = value` lines.
Result<void> translate_mca_file(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// -tune FILE[,FILE]: `key = value` lines, or lines of -x NAME=VALUE and -mca KEY VALUE.
Result<void> translate_tune_file(const ParsedOption& given, const ProcessContext& context, Translated& made);

/// Translates the OMPI_MCA_* and PRTE_MCA_* variables of the launcher's environment to options. Inside an Open MPI job
/// the result is empty, because the variables belong to the outer job. (Ranks get the variables with the environment.)
Result<std::vector<ParsedOption>> read_mca_variables(const std::vector<std::string>& environment);

/// The --exec command, with {host}, for plm_rsh_agent and plm_rsh_args. Empty if the command is plain "ssh": dlaunch
/// then uses its own ssh transport.
std::string rsh_command(std::string_view agent, std::string_view arguments);

}  // namespace dlaunch::cli
