// All data for connecting to one host, known before the first packet: from the host list, the ssh configuration, the
// known hosts and the keys. A value, made for the host's own thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "dlaunch/request.h"
#include "net/connect.h"
#include "transport/ssh/agent_proxy.h"
#include "transport/ssh/algorithms.h"
#include "transport/ssh/identity.h"
#include "transport/ssh/known_hosts.h"
#include "transport/ssh/revoked_keys.h"

namespace dlaunch::transport::ssh {

struct Route {
  std::string host;  ///< as the user wrote the name
  net::Target target;
  std::string proxy_command;  ///< replaces TCP; empty: none
  std::string user;
  plan::HostKey host_key = plan::HostKey::strict;
  KnownHost known;
  std::string known_hosts_file;                ///< the user's own file; accepted keys are added here
  bool hash_known_hosts = false;               ///< add hashed names
  std::string revoked_file;                    ///< RevokedHostKeys
  std::shared_ptr<const RevokedKeys> revoked;  ///< the content of the file; null: not set
  std::vector<std::shared_ptr<const Identity>> identities;
  std::vector<std::shared_ptr<const Certificate>> certificates;  ///< each for an identity or a key of the agent
  bool public_keys = true;                                       ///< public keys may be used to log in
  bool identities_only = false;                 ///< use only keys of the agent that are also identities
  std::shared_ptr<AgentProxy> agent;            ///< null: no agent, or the agent must not be used
  std::vector<std::string> missing_identities;  ///< files that the user named and that are missing
  Algorithms algorithms;
  std::chrono::milliseconds limit{10'000};  ///< for each phase
};

}  // namespace dlaunch::transport::ssh
