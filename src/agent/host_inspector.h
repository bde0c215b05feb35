// Answers QueryHost with HostInfo: what this host has for ranks, and whether what they need is there. Owned by the
// Agent; link and loop must outlive it.
#pragma once

#include <sys/resource.h>

#include <asio/io_context.hpp>
#include <optional>

#include "agent/resolver.h"
#include "link/link.h"
#include "wire/message.h"

namespace dlaunch::agent {

class HostInspector {
 public:
  /// `open_files`: the limit that ranks get.
  HostInspector(asio::io_context& io, link::Link& link, const rlimit& open_files);

  void look(wire::QueryHost&& query);
  /// The agent is leaving: starts no more children.
  void stop() { resolver_.reset(); }

 private:
  asio::io_context& io_;
  link::Link& link_;
  const rlimit open_files_;
  std::optional<Resolver> resolver_;
};

}  // namespace dlaunch::agent
