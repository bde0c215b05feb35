// Functions for all readers of host lists of resource managers. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::place {

/// The Error for an unreadable or invalid list: never a silent local run. `where`: the variable.
tl::unexpected<Error> wrong_list(std::string_view where, std::string what, std::string why = {});

/// Splits at blanks, tabs and line ends of any kind.
std::vector<std::string> blank_separated(std::string_view text);

/// A host of a manager's list, with its slots.
struct ListedHost {
  std::string name;
  int slots = 1;
};

/// Each name counts as one slot.
std::vector<ListedHost> one_slot_each(const std::vector<std::string>& names);

/// `from`: the variable, also stored in the entries. An invalid name, too many hosts and an empty list are Errors.
Result<std::vector<hosts::HostEntry>> listed_entries(const std::vector<ListedHost>& hosts, const std::string& from);

/// Reads the file whose path is in this variable.
Result<std::string> read_named_file(const std::string& variable, const std::vector<std::string>& environment,
                                    const hosts::ReadText& read_file);

}  // namespace dlaunch::place
