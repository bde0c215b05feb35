// stub_host NAME [sh]: a StubAgent on stdin and stdout, for `dlaunch --exec 'stub_host {host}'`.
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <string>

#include "stub_agent.h"
#include "sys/clock.h"

int main(int argc, char** argv) {
  utsname names{};
  ::uname(&names);
  dlaunch::bench::StubAgent agent({.host = argc > 1 ? argv[1] : names.nodename,
                                   .machine = names.machine,
                                   .pid = static_cast<std::uint32_t>(::getpid()),
                                   .time_ns = dlaunch::sys::wall_ns()});
  std::array<char, 16384> buffer;
  for (bool more = true; more;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got <= 0) return 1;
    std::string out;
    more = agent.feed({buffer.data(), static_cast<size_t>(got)}, out);
    for (size_t sent = 0; sent < out.size();) {
      const ssize_t took = ::write(STDOUT_FILENO, out.data() + sent, out.size() - sent);
      if (took < 0) return 1;
      sent += static_cast<size_t>(took);
    }
  }
  return 0;
}
