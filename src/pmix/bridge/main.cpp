// The PMIx server of one host: a separate process, to keep threads and faults of libpmix out of the agent. Reads and
// writes frames (docs/wire.md) on stdin, a socket, and exits at the end of the socket.
#include <fcntl.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "base/environment.h"
#include "link/link.h"
#include "pmix/bridge/connection_proxy.h"
#include "pmix/bridge/server.h"
#include "pmix/states.h"

namespace dlaunch::pmix {
namespace {

constexpr std::chrono::seconds kPatience{10};  // for libpmix to accept a connection; shorter than that of the agent

class Bridge {
 public:
  Bridge(asio::io_context& io, sys::Fd socket) : io_(io), link_(io, std::move(socket)) {}

  void run() {
    link_.start({[this](wire::Message&& message, std::deque<sys::Fd>& fds) {
                   std::visit([&](auto& m) { on(m, fds); }, message);
                 },
                 [](const std::string&) { std::_Exit(0); },  // without waiting for the threads of libpmix
                 {}});
    io_.run();
  }

 private:
  void on(wire::PmixStart& start, std::deque<sys::Fd>& fds) {
    if (server_ || fds.size() < 2) return;
    sys::Fd listener = std::move(fds[0]);
    states_.emplace(fds[1]);
    fds.clear();
    if (!*states_) return give_up({"", "cannot map the page of states", std::strerror(errno), ""});
    server_.emplace(io_, *states_, [this](const wire::Message& message) { link_.send(message); });
    auto kept = std::make_shared<sys::Fd>(std::move(listener));
    server_->start(start, [this, kept, space = start.space](const Result<void>& known) {
      if (!known) return give_up(known.error());
      proxy_ ? proxy_->retry_pending() : open(std::move(*kept), space);
    });
  }

  /// From now on clients may connect.
  void open(sys::Fd listener, const std::string& space) {
    const auto port = server_->port();
    if (!port) return give_up(port.error());
    proxy_.emplace(io_, std::move(listener), *port, space, [this](std::string_view of) { return server_->knows(of); });
    if (!AcceptFilter::serves(*port, kPatience)) {
      return give_up({"", "libpmix does not accept connections", "it has too few threads, or the host is overloaded",
                      "set a higher limit of processes: ulimit -u, or pids.max of the cgroup"});
    }
    link_.send(wire::Ping{});
  }

  void on(wire::PmixWorld& world, std::deque<sys::Fd>&) {
    if (server_) server_->add(world);
  }
  void on(wire::PmixEvent& event, std::deque<sys::Fd>&) {
    if (server_) server_->happened(event);
  }
  void on(wire::PmixShared& shared, std::deque<sys::Fd>&) {
    if (server_) server_->shared(std::move(shared));
  }
  void on(wire::PmixAnswer& answer, std::deque<sys::Fd>&) {
    if (server_) server_->answer(std::move(answer));
  }
  void on(wire::PmixModexAsk& asked, std::deque<sys::Fd>&) {
    if (server_) server_->modex_asked(asked);
  }
  template <class Other>
  void on(Other&, std::deque<sys::Fd>&) {}

  void give_up(const Error& error) {
    link_.send(wire::PmixFailed{error.why.empty() ? error.what : error.what + ": " + error.why, error.hint});
    link_.when_sent([] { std::_Exit(1); });
  }

  asio::io_context& io_;
  link::Link link_;
  std::optional<States> states_;
  std::optional<PmixServer> server_;
  std::optional<ConnectionProxy> proxy_;
};

/// Removes the variables of an outer launcher, and the user's variables for programs: this server must not use either.
void clean_environment() {
  for (const std::string& entry : own_environment()) {
    if (entry.starts_with("PMIX_") || entry.starts_with("OMPI_")) ::unsetenv(std::string(variable_name(entry)).c_str());
  }
  ::setenv("PMIX_MCA_gds", "hash", 1);                   // as in pmix/environment.h for the clients
  ::setenv("PMIX_MCA_psec", "native", 1);                // as in pmix/environment.h
  ::setenv("PMIX_MCA_ptl_base_max_msg_size", "128", 1);  // MiB; the default is up to 4 GiB for any client
}

}  // namespace
}  // namespace dlaunch::pmix

int main() {
  // A sender of USR1 or USR2 to all processes of a step means the ranks.
  for (const int signal : {SIGPIPE, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_IGN);
  dlaunch::pmix::clean_environment();
  dlaunch::sys::Fd socket(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  asio::io_context io(1);
  dlaunch::pmix::Bridge(io, std::move(socket)).run();
  return 0;
}
