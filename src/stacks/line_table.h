// Which line of a Python file an instruction belongs to (CPython's Objects/locations.md, 3.11 and later). Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace dlaunch::stacks {

/// `table`: co_linetable. `offset`: of the instruction, in bytes from the first one. 0: it has no line, or the table
/// makes no sense.
int line_at(std::string_view table, int first_line, std::size_t offset);

}  // namespace dlaunch::stacks
