#include "transport/bootstrap.h"

extern "C" const char kDlaunchAgentBegin[];
extern "C" const char kDlaunchAgentEnd[];

namespace dlaunch::transport {

AgentImage agent_image() {
  return {{kDlaunchAgentBegin, static_cast<size_t>(kDlaunchAgentEnd - kDlaunchAgentBegin)},
          DLAUNCH_AGENT_HASH,
          DLAUNCH_AGENT_MACHINE,
          DLAUNCH_AGENT_CHECKSUM};
}

}  // namespace dlaunch::transport
