// Decides if a name in a host list means this machine, and chooses the address of this machine for other hosts. No
// other module resolves names for this purpose.
//
// Known without a resolver: localhost, 127.x.x.x, ::1, the full host name and the addresses of this machine. A name
// that starts with the host name and a dot may be the full name. The name means this machine if an address of the name
// belongs to this machine. Every other name counts as another host: resolving 10,000 names would take too long, and
// agents on the same machine detect duplicates later.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dlaunch/error.h"
#include "sys/lookup.h"

namespace dlaunch::net {

// Resolves names in parallel, with one time limit for all of them. Name servers without an answer delay the job by at
// most this limit, for any number of names.

class NameResolver {
 public:
  /// Returns when the descriptor is readable, or at the deadline.
  using Wait = std::function<void(const sys::Fd& answered, Time deadline)>;

  static constexpr std::chrono::seconds kLimit{10};  ///< for all names together, from the first lookup

  /// `wait` lets the caller do other work meanwhile.
  explicit NameResolver(Wait wait = sys::wait_readable, std::chrono::milliseconds limit = kLimit)
      : wait_(std::move(wait)), limit_(limit) {}

  /// Starts a lookup and does not wait.
  void ask(const std::string& name);
  /// The addresses in the form of inet_ntop; empty if the name does not resolve or the time limit passes.
  std::vector<std::string> addresses(const std::string& name);
  /// The reason for names without an answer in time; empty if all names have an answer.
  std::string trouble() const;

 private:
  const Wait wait_;
  const std::chrono::milliseconds limit_;
  std::optional<Time> deadline_;
  std::map<std::string, sys::Lookup> asked_;
  std::map<std::string, std::vector<std::string>> known_;
  std::vector<std::string> unanswered_;
};

struct OwnNames {
  std::vector<std::string> names;      ///< the host name; under Slurm also the name of the node
  std::vector<std::string> addresses;  ///< addresses of the interfaces in the form of inet_ntop, without zone
};

/// The addresses of a name in the form of inet_ntop; empty if the name does not resolve.
using Resolve = std::function<std::vector<std::string>(const std::string& name)>;

/// Calls `resolve` only for a name that starts with the host name and a dot.
bool is_this_machine(const std::string& name, const OwnNames& own, const Resolve& resolve);

OwnNames own_names(const std::vector<std::string>& environment);

/// The address in the form of inet_ntop, without zone.
std::optional<std::string> numeric_address(const sockaddr* address);

// Chooses the address of this machine for ranks on other hosts. In this order:
//
// 1. The name or address of this machine in the host list: the user chose the network. Not for an unresolvable name, or
//    a loopback address (localhost, 127.0.1.1).
// 2. The local address for packets to the first other host with a resolvable name: replies can reach this address.

/// The local address that the kernel would use to send to another address.
using SourceTowards = std::function<std::optional<std::string>(const std::string& address)>;

Result<std::string> address_for_others(const std::string& own_name, const std::vector<std::string>& others,
                                       const Resolve& resolve, const SourceTowards& source_towards);

/// Asks the kernel's routing table; sends no packets.
std::optional<std::string> source_towards(const std::string& address);

}  // namespace dlaunch::net
