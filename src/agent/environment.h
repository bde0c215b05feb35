// Lists of NAME=VALUE, as ranks get them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlaunch::agent {

inline constexpr const char* kEnvironmentFile = "env.log";

/// Into kEnvironmentFile, as env(1) prints it; for its owner only, since it may hold secrets. 0 or errno.
int save_environment(const std::string& directory, const std::vector<std::string>& shared,
                     const std::vector<std::string>& own);

bool has_name_of(const std::vector<std::string>& env, const std::string& other);
void add_unless_there(std::vector<std::string>& env, const std::string& added);

/// What belongs to the login on this host and is not sent from another one. The local agent has none of it.
void add_login(std::vector<std::string>& env);

/// All that a rank with a PMI-1 connection is told.
void drop_pmi1(std::vector<std::string>& env);
/// What the plan says of such a connection to a world of so many ranks; not what the user chose.
void drop_planned_pmi1(std::vector<std::string>& env, std::uint32_t ranks);

}  // namespace dlaunch::agent
