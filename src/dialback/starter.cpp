#include "dialback/starter.h"

#include <utility>

#include "dialback/start_by_files.h"
#include "dialback/start_command.h"

namespace dlaunch::dialback {

std::vector<std::string> Starter::Request::names() const {
  std::vector<std::string> names;
  names.reserve(hosts.size());
  for (const plan::Host& host : hosts) names.push_back(host.name);
  return names;
}

std::unique_ptr<Starter> make_starter(Starter::Request request, Starter::Heard heard) {
  if (request.how.files_in) return std::make_unique<StartByFiles>(std::move(request), std::move(heard));
  return std::make_unique<StartCommand>(std::move(request), std::move(heard));
}

}  // namespace dlaunch::dialback
