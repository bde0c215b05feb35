// The agent's executable, carried inside the launcher so that hosts need no install.
#pragma once

#include <string_view>

namespace dlaunch::transport {

std::string_view agent_image();

}  // namespace dlaunch::transport
