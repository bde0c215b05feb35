// Functions for all readers of a manager's variables and lists of hosts, and for the systems that start the same
// command line on all nodes. Pure, except for `read_file`.
#pragma once

#include <array>

#include "place/manager_row.h"

namespace dlaunch::place {

/// The Error for an unreadable or invalid list: no silent run on this machine. `where`: the variable.
tl::unexpected<Error> wrong_list(std::string_view where, std::string what, std::string why = {});

/// Variables that together show that this process is in a batch job, and the variable of the missing list of hosts.
struct JobSign {
  std::string_view manager;
  std::string_view number;                      ///< the variable with the job's number
  std::string_view other_number = {};           ///< an older name of the variable
  std::array<std::string_view, 3> proofs = {};  ///< one of these must also be set; empty: the number is enough
  std::string_view list;
};

/// The Error for a batch job with these variables. nullopt: this process is not in a batch job.
std::optional<Error> unlisted_job(const Environment& environment, const JobSign& sign);

/// A whole number from 0; nullopt for every other text.
std::optional<std::int64_t> whole_number(std::string_view text);

/// The attempt whose number is in this variable; 0 without a number.
Attempt counted_attempt(const Environment& environment, std::string_view name);
/// The attempt of a system that only shows whether the job ran before.
Attempt uncounted_attempt(bool ran_before);

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
Result<Entries> listed_entries(const std::vector<ListedHost>& hosts, const std::string& from);

/// Reads the file whose path is in this variable.
Result<std::string> read_named_file(const std::string& variable, const Environment& environment,
                                    const hosts::ReadText& read_file);

/// The entries of a file with one name for each slot, or "name:slots"; names may repeat, also with other names between.
Result<Entries> read_node_file(const std::string& variable, const Environment& environment,
                               const hosts::ReadText& read_file);

/// Whether one of *_VISIBLE_DEVICES has a value.
bool lists_devices(const Environment& environment);

/// The Error for a variable about this node that contradicts others or has an invalid value.
tl::unexpected<Error> unknown_node(std::string_view name, const std::string& value, std::string why);

/// The number in a variable about this node; nullopt if the variable is not set.
Result<std::optional<int>> node_number(const Environment& environment, std::string_view name);

}  // namespace dlaunch::place
