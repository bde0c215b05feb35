// A hostfile's text as host entries. Pure. docs/hosts.md is the user's side of it.
//
// A host a line: NAME, NAME:8 or user@node[01-16,20], then any of
//   slots=N (cpu, count)    max_slots=N (max-slots, slots_max, …)    devices=0,2-3 or [4,8)
//   user=U (username)  port=N  identity=FILE  jump=HOST  agent=PATH  wdir=DIR  env.NAME=VALUE
// Blanks may stand around '=' (but not after env.NAME=). A path or a variable's value may stand in "…". Comments are #,
// // and /* */ where a word may begin, and right after a name or a number. LF or CRLF.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::allocate {

/// Entries in the file's order, ranges expanded; one at least. `name` is for errors ("name:line:column") and for
/// HostEntry::from ("name:line").
Result<std::vector<HostEntry>> parse_hostfile(std::string_view text, const std::string& name);

}  // namespace dlaunch::allocate
