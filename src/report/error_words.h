// What a rank of PyTorch wrote about its failure: the text of a TORCHELASTIC_ERROR_FILE. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::report {

/// The last lines of the traceback, or else of the message; empty when the text is no such JSON. It knows
/// {"message": {"message": …, "extraInfo": {"py_callstack": …}}}, and {"message": …} with or without the traceback.
std::vector<std::string> error_words(std::string_view json);

}  // namespace dlaunch::report
