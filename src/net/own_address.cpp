#include "net/own_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include "base/ip_address.h"
#include "sys/fd.h"

namespace dlaunch::net {
namespace {

bool reaches_out(const std::vector<std::string>& addresses) { return !std::ranges::all_of(addresses, is_loopback); }

}  // namespace

Result<std::string> address_for_others(const std::string& own_name, const std::vector<std::string>& others,
                                       const Resolve& resolve, const SourceTowards& source_towards) {
  if (reaches_out(resolve(own_name))) return own_name;
  for (const std::string& other : others) {
    for (const std::string& address : resolve(other)) {
      const auto source = source_towards(address);
      if (source && !is_loopback(*source)) return *source;
    }
  }
  return fail({.where = "",
               .what = "cannot find an address of this machine for other hosts",
               .why = "other hosts cannot use the name " + own_name + ", which the host list has for this machine",
               .hint = "write this machine in -H or the hostfile with a name that other hosts can resolve"});
}

std::optional<std::string> source_towards(const std::string& address) {
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(address.c_str(), "9", &wanted, &list) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, ::freeaddrinfo);
  const sys::Fd fd(::socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), list->ai_addr, list->ai_addrlen) != 0) return std::nullopt;
  sockaddr_storage ours{};
  socklen_t size = sizeof ours;
  char text[INET6_ADDRSTRLEN];
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&ours), &size) != 0) return std::nullopt;
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&ours), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
    return std::nullopt;
  return text;
}

}  // namespace dlaunch::net
