#include "transport/exec.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "sys/io.h"

namespace dlaunch::transport {

Exec::Exec(CommandFor command, std::function<void(const std::string&)> note, Ending ending)
    : command_(std::move(command)), note_(std::move(note)), ending_(ending) {}
Exec::~Exec() { close(); }

Result<Connection> Exec::open(const plan::Host& host) {
  auto [ours, theirs] = sys::make_socketpair();
  sys::Pipe errors = sys::make_pipe();
  Command child;
  const int error = errors.read ? child.start(command_(host) + " sh", theirs, errors.write) : errno;
  if (error != 0) {
    return fail({host.name, "cannot run the transport's command", std::strerror(error), "", kExitHostLost});
  }
  commands_.add(std::move(child), host.name);
  return Connection{std::move(ours), false, true, host.reach.agent, std::move(errors.read)};
}

void Exec::close() { commands_.end(ending_, note_); }

}  // namespace dlaunch::transport
