// What the readers of resource managers' host lists share. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::allocate {

/// The Error of a list that cannot be read or understood: never a silent local run. `where`: the variable.
tl::unexpected<Error> wrong_list(std::string_view where, std::string what, std::string why = {});

/// Between blanks, tabs and line ends of any kind.
std::vector<std::string> blank_separated(std::string_view text);

/// A host of a manager's list, with its slots.
struct ListedHost {
  std::string name;
  int slots = 1;
};

/// Each name is a slot.
std::vector<ListedHost> one_slot_each(const std::vector<std::string>& names);

/// `from`: the variable, which also stands in the entries. A name that cannot be one, too many and none are Errors.
Result<std::vector<HostEntry>> listed_entries(const std::vector<ListedHost>& hosts, const std::string& from);

/// The text of the file that this variable names.
Result<std::string> read_named_file(const std::string& variable, const std::vector<std::string>& environment,
                                    const ReadText& read_file);

}  // namespace dlaunch::allocate
