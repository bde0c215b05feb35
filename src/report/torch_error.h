// Reads a TORCHELASTIC_ERROR_FILE, the report of a failed PyTorch rank. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::report {

/// The last lines of the traceback, or else of the message; empty if the text has another form. Supported forms:
/// {"message": {"message": …, "extraInfo": {"py_callstack": …}}}, and {"message": …} with or without the traceback.
std::vector<std::string> torch_error_lines(std::string_view json);

}  // namespace dlaunch::report
