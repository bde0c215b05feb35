#include "sys/reserved_ports.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace dlaunch::sys {
namespace {

int bind_to(int fd, const sockaddr* address, socklen_t size) { return ::bind(fd, address, size); }

/// Binds IPv6 and IPv4 at once, or only IPv4 on a machine without IPv6. SO_REUSEADDR is not set, so that a port with
/// closing connections counts as taken.
Fd bind_everywhere(int port) {
  Fd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd) {
    const int off = 0;
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_addr = in6addr_any;
    any.sin6_port = htons(static_cast<std::uint16_t>(port));
    if (::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0 &&
        bind_to(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0) {
      return fd;
    }
    if (errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT) return {};
  } else if (errno != EAFNOSUPPORT) {
    return {};
  }
  fd.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(static_cast<std::uint16_t>(port));
  if (!fd || bind_to(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) return {};
  return fd;
}

}  // namespace

Result<ReservedPorts> ReservedPorts::take(size_t count, const std::function<int(int)>& candidate, int most) {
  ReservedPorts held;
  for (int i = 0; i < most && held.ports_.size() < count; ++i) {
    Fd fd = bind_everywhere(candidate(i));
    if (fd) {
      held.ports_.push_back(candidate(i));
      held.fds_.push_back(std::move(fd));
      continue;
    }
    if (errno == EADDRINUSE || errno == EACCES) continue;
    return fail({.where = "", .what = "cannot reserve a TCP port", .why = std::strerror(errno), .hint = ""});
  }
  if (held.ports_.size() == count) return held;
  return fail({.where = "",
               .what = "not enough free TCP ports",
               .why = std::to_string(count) + " required, " + std::to_string(held.ports_.size()) + " found",
               .hint = "run ss -ltnp to find the processes that use TCP ports"});
}

}  // namespace dlaunch::sys
