#include "transport/agent_image.h"

extern "C" const char dlaunch_agent_begin[];
extern "C" const char dlaunch_agent_end[];

namespace dlaunch::transport {

std::string_view agent_image() {
  return {dlaunch_agent_begin, static_cast<size_t>(dlaunch_agent_end - dlaunch_agent_begin)};
}

}  // namespace dlaunch::transport
