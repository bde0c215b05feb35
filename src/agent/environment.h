// Lists of NAME=VALUE, as ranks get them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlaunch::agent {

inline constexpr const char* kEnvironmentFile = "env.log";

/// Writes kEnvironmentFile as env(1) prints it, for its owner only, since it may hold secrets. Returns 0 or errno.
int save_environment(const std::string& directory, const std::vector<std::string>& shared,
                     const std::vector<std::string>& own);

bool has_name_of(const std::vector<std::string>& env, const std::string& other);
void add_unless_there(std::vector<std::string>& env, const std::string& added);
/// Adds to a rank's own entries those of a name that neither they nor its program's shared ones have.
void add_missing(std::vector<std::string>& own, const std::vector<std::string>& shared,
                 const std::vector<std::string>& added);

/// Adds the variables of the login on this host, which are not sent from another one. The local agent adds none.
void add_login(std::vector<std::string>& env);

/// What a resource manager told this agent of its node (plan::tells_of_node).
std::vector<std::string> node_variables();

/// Removes all that a rank with a PMI-1 connection is told.
void drop_pmi1(std::vector<std::string>& env);
/// Removes what the plan says of such a connection in a world of so many ranks, but not what the user set.
void drop_planned_pmi1(std::vector<std::string>& env, std::uint32_t ranks);

}  // namespace dlaunch::agent
