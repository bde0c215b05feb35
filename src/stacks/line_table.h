// The line of an instruction in a Python file, from the table of its code object. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace dlaunch::stacks {

/// `offset`: of the instruction, in bytes from the first instruction. 0: no line, or a malformed table.
using LineAt = int (*)(std::string_view table, int first_line, std::size_t offset);

/// `table`: co_lnotab, until 3.9 (CPython's Objects/lnotab_notes.txt).
int line_of_lnotab(std::string_view table, int first_line, std::size_t offset);
/// `table`: co_linetable of 3.10 (PEP 626).
int line_of_range(std::string_view table, int first_line, std::size_t offset);
/// `table`: co_linetable of 3.11 and later (CPython's Objects/locations.md).
int line_of_location(std::string_view table, int first_line, std::size_t offset);

}  // namespace dlaunch::stacks
