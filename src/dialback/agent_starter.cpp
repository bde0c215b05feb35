#include "dialback/agent_starter.h"

#include <utility>

#include "dialback/starter_by_files.h"
#include "dialback/starter_by_stdin.h"

namespace dlaunch::dialback {

std::vector<std::string> AgentStarter::Request::names() const {
  std::vector<std::string> names;
  names.reserve(hosts.size());
  for (const plan::Host& host : hosts) names.push_back(host.name);
  return names;
}

std::unique_ptr<AgentStarter> make_starter(AgentStarter::Request request, AgentStarter::Heard heard) {
  if (request.how.files_in) return std::make_unique<StarterByFiles>(std::move(request), std::move(heard));
  return std::make_unique<StarterByStdin>(std::move(request), std::move(heard));
}

}  // namespace dlaunch::dialback
