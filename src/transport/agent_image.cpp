#include "transport/agent_image.h"

extern "C" const char kDlaunchAgentBegin[];
extern "C" const char kDlaunchAgentEnd[];

namespace dlaunch::transport {

std::string_view agent_image() {
  return {kDlaunchAgentBegin, static_cast<size_t>(kDlaunchAgentEnd - kDlaunchAgentBegin)};
}

}  // namespace dlaunch::transport
