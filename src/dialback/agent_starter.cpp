#include "dialback/agent_starter.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "dialback/starter_by_files.h"
#include "dialback/starter_by_stdin.h"
#include "sys/io.h"

namespace dlaunch::dialback {

std::vector<std::string> AgentStarter::Request::names() const {
  std::vector<std::string> names;
  names.reserve(hosts.size());
  for (const plan::Host& host : hosts) names.push_back(host.name);
  return names;
}

Result<StartedCommand> start_command(const std::string& line, const std::string& before, const std::string& hosts,
                                     transport::RunningCommands& processes) {
  auto [ours, theirs] = sys::make_socketpair();
  sys::Pipe errors = sys::make_pipe();
  transport::Command process;
  const int error = errors.read ? process.start(line, theirs, errors.write, before) : errno;
  if (error != 0) return fail({"", "cannot run the manager's command", std::strerror(error), ""});
  processes.add(std::move(process), hosts);
  sys::set_nonblocking(ours.get());
  sys::set_nonblocking(errors.read.get());
  return StartedCommand{std::move(ours), std::move(errors.read)};
}

std::unique_ptr<AgentStarter> make_starter(AgentStarter::Request request, AgentStarter::OnErrors on_errors) {
  if (request.how.files_in) return std::make_unique<StarterByFiles>(std::move(request), std::move(on_errors));
  return std::make_unique<StarterByStdin>(std::move(request), std::move(on_errors));
}

}  // namespace dlaunch::dialback
