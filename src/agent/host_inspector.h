// Answers QueryHost with HostInfo: this host's CPUs and devices, and whether the job's programs and files exist. Owned
// by the Agent; link and loop must outlive this object.
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
  /// `open_files`: the ranks' limit.
  HostInspector(asio::io_context& io, link::Link& link, const rlimit& open_files);

  void inspect(wire::QueryHost&& query);
  /// The agent is leaving: starts no more children.
  void stop() { resolver_.reset(); }

 private:
  asio::io_context& io_;
  link::Link& link_;
  const rlimit open_files_;
  std::optional<Resolver> resolver_;
};

}  // namespace dlaunch::agent
