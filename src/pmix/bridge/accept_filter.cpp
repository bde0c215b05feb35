#include "pmix/bridge/accept_filter.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace dlaunch::pmix {
namespace {

std::atomic<AcceptFilter*> the_gate{nullptr};  // accept(2) has no other way to find the filter

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// A connection that the peer has closed. libpmix treats an error of accept(2) as the end of its port.
int ended_connection() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  ::close(ends[1]);
  return ends[0];
}

}  // namespace

AcceptFilter::AcceptFilter() { the_gate = this; }
AcceptFilter::~AcceptFilter() { the_gate = nullptr; }

/// Other processes cannot use the source port while the socket is bound to it.
sys::Fd AcceptFilter::dial(std::uint16_t port) {
  sys::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in own = loopback(0);
  socklen_t size = sizeof own;
  auto* where = reinterpret_cast<sockaddr*>(&own);
  if (!socket || ::bind(socket.get(), where, size) != 0 || ::getsockname(socket.get(), where, &size) != 0) return {};
  const std::uint16_t source = ntohs(own.sin_port);
  {
    const std::lock_guard lock(mutex_);
    expected_.insert(source);
  }
  const sockaddr_in server = loopback(port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0) {
    is_expected(source);  // the source port is not expected any more
    return {};
  }
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

bool AcceptFilter::is_expected(std::uint16_t port) {
  const std::lock_guard lock(mutex_);
  return expected_.erase(port) > 0;
}

int AcceptFilter::admit(int accepted) {
  sockaddr_in peer{};
  socklen_t size = sizeof peer;
  if (accepted < 0 || ::getpeername(accepted, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return accepted;
  if (peer.sin_family != AF_INET) return accepted;
  AcceptFilter* gate = the_gate;
  if (gate && gate->is_expected(ntohs(peer.sin_port))) return accepted;
  ::close(accepted);
  return ended_connection();
}

}  // namespace dlaunch::pmix

extern "C" int accept(int listener, sockaddr* address, socklen_t* size) {
  return dlaunch::pmix::AcceptFilter::admit(static_cast<int>(::syscall(SYS_accept4, listener, address, size, 0)));
}
