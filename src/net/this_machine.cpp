#include "net/this_machine.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <memory>

#include "base/environment.h"
#include "base/ip_address.h"
#include "base/text.h"
#include "place/variables.h"
#include "sys/fd.h"

namespace dlaunch::net {

void NameResolver::ask(const std::string& name) {
  if (!deadline_) deadline_ = std::chrono::steady_clock::now() + limit_;
  if (!known_.contains(name)) asked_.try_emplace(name, sys::Name{.name = name});
}

std::vector<std::string> NameResolver::addresses(const std::string& name) {
  if (const auto known = known_.find(name); known != known_.end()) return known->second;
  ask(name);
  sys::Lookup& lookup = asked_.at(name);
  if (!lookup.is_answered()) wait_(lookup.answered(), *deadline_);
  if (!lookup.is_answered()) {
    if (std::ranges::find(unanswered_, name) == unanswered_.end()) unanswered_.push_back(name);
    return {};
  }
  const sys::LookedUp found = lookup.take();
  asked_.erase(name);
  std::vector<std::string>& addresses = known_[name];
  for (const addrinfo* at = found.addresses.get(); at; at = at->ai_next) {
    if (auto address = numeric_address(at->ai_addr)) addresses.push_back(*std::move(address));
  }
  return addresses;
}

std::string NameResolver::trouble() const {
  if (unanswered_.empty()) return {};
  const auto seconds = std::chrono::round<std::chrono::seconds>(limit_).count();
  return "timed out after " + std::to_string(seconds) + " s (waiting for a name server to resolve " +
         fold_names(unanswered_) + ")";
}

namespace {

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// The canonical spelling of an address, without its IPv6 zone; nullopt for other text.
std::optional<std::string> canonical(std::string_view text) {
  const std::string address(text.substr(0, text.find('%')));
  char spelled[INET6_ADDRSTRLEN];
  in_addr v4{};
  if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) return ::inet_ntop(AF_INET, &v4, spelled, sizeof spelled);
  in6_addr v6{};
  if (::inet_pton(AF_INET6, address.c_str(), &v6) == 1) return ::inet_ntop(AF_INET6, &v6, spelled, sizeof spelled);
  return std::nullopt;
}

bool is_ours(const std::string& address, const OwnNames& own) {
  return is_loopback(address) || std::ranges::find(own.addresses, address) != own.addresses.end();
}

bool may_be_full_name(std::string_view name, std::string_view own) {
  return name.size() > own.size() + 1 && name[own.size()] == '.' && same_name(name.substr(0, own.size()), own);
}

bool reaches_out(const std::vector<std::string>& addresses) { return !std::ranges::all_of(addresses, is_loopback); }

}  // namespace

std::optional<std::string> numeric_address(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN];
  if (address && address->sa_family == AF_INET) {
    return ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  }
  if (address && address->sa_family == AF_INET6) {
    return ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text, sizeof text);
  }
  return std::nullopt;
}

bool is_this_machine(const std::string& name, const OwnNames& own, const Resolve& resolve) {
  if (const auto address = canonical(name)) return is_ours(*address, own);
  for (const std::string_view local : {"localhost", "localhost.localdomain", "ip6-localhost"}) {
    if (same_name(name, local)) return true;
  }
  if (std::ranges::any_of(own.names, [&](const std::string& mine) { return same_name(name, mine); })) return true;
  if (std::ranges::none_of(own.names, [&](const std::string& mine) { return may_be_full_name(name, mine); })) {
    return false;
  }
  const std::vector<std::string> addresses = resolve(name);
  return std::ranges::any_of(addresses, [&](const std::string& address) { return is_ours(address, own); });
}

OwnNames own_names(const std::vector<std::string>& environment) {
  OwnNames own;
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0') own.names.emplace_back(name);
  if (auto node = filled_variable(environment, place::kSlurmNode)) own.names.push_back(*std::move(node));
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return own;  // without interfaces, the names still apply
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, ::freeifaddrs);
  for (const ifaddrs* at = list; at; at = at->ifa_next) {
    if (auto address = numeric_address(at->ifa_addr)) own.addresses.push_back(*std::move(address));
  }
  return own;
}

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
               .why = "other hosts cannot reach this machine by its name in the host list, " + own_name,
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
