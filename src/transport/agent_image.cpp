#include "transport/bootstrap.h"

extern "C" const char dlaunch_agent_begin[];
extern "C" const char dlaunch_agent_end[];

namespace dlaunch::transport {

AgentImage agent_image() {
  return {{dlaunch_agent_begin, static_cast<size_t>(dlaunch_agent_end - dlaunch_agent_begin)},
          DLAUNCH_AGENT_HASH,
          DLAUNCH_AGENT_MACHINE};
}

}  // namespace dlaunch::transport
