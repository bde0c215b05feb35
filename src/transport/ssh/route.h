// All that is known of the way to one host before the first packet: what the host list, the ssh configuration, the
// known hosts and the keys say. A value, made in the launcher's thread and given to the host's own.
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
  std::string proxy_command;  ///< instead of TCP; empty: none
  std::string user;
  plan::HostKey host_key = plan::HostKey::strict;
  KnownHost known;
  std::string known_hosts_file;                ///< the user's own, where an accepted key is written
  bool hash_known_hosts = false;               ///< without its name in the clear
  std::string revoked_file;                    ///< RevokedHostKeys
  std::shared_ptr<const RevokedKeys> revoked;  ///< what it says; none: there is no such file to heed
  std::vector<std::shared_ptr<const Identity>> identities;
  std::vector<std::shared_ptr<const Certificate>> certificates;  ///< each for one of the identities or the agent's keys
  bool public_keys = true;                                       ///< may log in
  bool identities_only = false;                 ///< of the agent's keys only those that are among the identities
  std::shared_ptr<AgentProxy> agent;            ///< none: there is none, or it is not to be asked
  std::vector<std::string> missing_identities;  ///< named by the user, and not there
  Algorithms algorithms;
  std::chrono::milliseconds limit{10'000};  ///< of each phase
};

}  // namespace dlaunch::transport::ssh
