#include "sys/interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <memory>
#include <optional>

namespace dlaunch::sys {
namespace {

std::optional<InterfaceAddress> read(const ifaddrs& entry) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (!entry.ifa_addr || !(entry.ifa_flags & IFF_UP) || (entry.ifa_flags & IFF_LOOPBACK)) return std::nullopt;
  const bool v6 = entry.ifa_addr->sa_family == AF_INET6;
  if (!v6 && entry.ifa_addr->sa_family != AF_INET) return std::nullopt;
  const auto* four = reinterpret_cast<const sockaddr_in*>(entry.ifa_addr);
  const auto* six = reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr);
  const void* address = v6 ? static_cast<const void*>(&six->sin6_addr) : &four->sin_addr;
  if (v6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) return std::nullopt;
  if (!v6 && (ntohl(four->sin_addr.s_addr) >> 16U) == 0xa9fe) return std::nullopt;  // 169.254.*
  if (!::inet_ntop(entry.ifa_addr->sa_family, address, text.data(), text.size())) return std::nullopt;
  return InterfaceAddress{entry.ifa_name, text.data(), v6};
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  std::vector<InterfaceAddress> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
    if (auto address = read(*entry)) found.push_back(*std::move(address));
  }
  return found;
}

}  // namespace dlaunch::sys
