// Translates options of Open MPI 5 with a list of words.
#pragma once

#include "grammars/mpirun/translate.h"

namespace dlaunch::cli {

/// --rtos and --runtime-options: words, some with =true.
Result<void> translate_runtime_options(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// --output tag,dir=D
Result<void> translate_output(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// --display map,bind
Result<void> translate_display(const ParsedOption& given, const ProcessContext& context, Translated& made);

}  // namespace dlaunch::cli
