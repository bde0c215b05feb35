// What options of Hydra's and of HPE's PALS mean: OptionSpec::translate of their rows. PURE.
#pragma once

#include <string_view>

#include "cli/mpirun/translate.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

/// Whether it is an option of Hydra's or of PALS's in foreign_table(), and none of Open MPI's.
bool is_word_of_hydra(std::string_view name);

/// A note that the option changes nothing.
void note_of(const ParsedOption& given, std::string_view why, Translated& made);

/// -launcher and -bootstrap name the way to hosts, which the place offers by itself.
Result<void> hydra_launcher(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// -rmk: whose list of hosts counts, which is seen.
Result<void> hydra_manager(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// -bind-to, and -binding with its older values; "user:0+2,1" has threads 0 and 2 for the first rank, "core:2" two
/// cores for each.
Result<void> hydra_binding(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// Whether a --bind-to has a value that only Hydra knows.
bool is_hydra_bind_to(const ParsedOption& given);
/// --cpu-bind depth, list:0-3:4-7, core, numa, none, with "verbose," in front.
Result<void> pals_binding(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// -d N and --depth N: threads for each rank. Without a number -d is Open MPI's debugging.
Result<void> pals_depth(const ParsedOption& given, const ProcessContext& context, Translated& made);

}  // namespace dlaunch::cli
