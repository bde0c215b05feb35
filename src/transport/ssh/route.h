// All that is known about reaching one host before the first packet: from the host list, the ssh configuration, the
// known hosts and the keys. A value, made for the host's own thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "dlaunch/request.h"
#include "transport/ssh/agent_proxy.h"
#include "transport/ssh/algorithms.h"
#include "transport/ssh/connect.h"
#include "transport/ssh/identity.h"
#include "transport/ssh/known_hosts.h"
#include "transport/ssh/revoked_keys.h"

namespace dlaunch::transport::ssh {

struct Route {
  std::string host;  ///< as the user named it
  Target target;
  std::string proxy_command;  ///< in place of TCP; empty: none
  std::string user;
  plan::HostKey host_key = plan::HostKey::strict;
  KnownHost known;
  std::string known_hosts_file;                ///< the user's own, to which an accepted key is added
  bool hash_known_hosts = false;               ///< add names in hashed form
  std::string revoked_file;                    ///< RevokedHostKeys
  std::shared_ptr<const RevokedKeys> revoked;  ///< its content; none: there is no such file
  std::vector<std::shared_ptr<const Identity>> identities;
  std::vector<std::shared_ptr<const Certificate>> certificates;  ///< each for one of the identities or agent's keys
  bool public_keys = true;                                       ///< they may be used to log in
  bool identities_only = false;                 ///< use only those of the agent's keys that are among the identities
  std::shared_ptr<AgentProxy> agent;            ///< null: there is none, or it must not be asked
  std::vector<std::string> missing_identities;  ///< files that the user named and that do not exist
  Algorithms algorithms;
  std::chrono::milliseconds limit{10'000};  ///< for each phase
};

}  // namespace dlaunch::transport::ssh
