#include "transport/bootstrap.h"

namespace dlaunch::transport {

const std::vector<AgentImage>& agent_images() {
  static const std::vector<AgentImage> images = {DLAUNCH_AGENTS};
  return images;
}

std::vector<std::string> agent_machines() {
  std::vector<std::string> machines;
  for (const AgentImage& image : agent_images()) machines.push_back(image.machine);
  return machines;
}

std::string all_agents() {
  std::string bytes;
  for (const AgentImage& image : agent_images()) bytes += image.bytes;
  return bytes;
}

}  // namespace dlaunch::transport
