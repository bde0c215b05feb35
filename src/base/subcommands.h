// The names of dlaunch's subcommands. cli/command_line.cpp has the rows; hints about programs use the names.
#pragma once

#include <array>
#include <string_view>

namespace dlaunch {

inline constexpr std::array<std::string_view, 6> kSubcommandNames{"hosts",     "check", "stacks",
                                                                  "ranktable", "chaos", "help"};

}  // namespace dlaunch
