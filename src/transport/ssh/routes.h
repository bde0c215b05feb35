// Makes the route to each host: reads the ssh configuration, the known hosts and the keys once, when the first host
// needs them. Owned by the transport; the launcher's thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plan/allocation.h"
#include "transport/ssh/config.h"
#include "transport/ssh/route.h"

namespace dlaunch::transport::ssh {

class Routes {
 public:
  /// `host_key`: the user's --host-key, which comes before the configuration. `note`: told once each.
  Routes(Surroundings surroundings, std::optional<HostKey> host_key, std::function<void(const std::string&)> note,
         std::shared_ptr<Watchdog> watchdog);

  Result<Route> to(const plan::Host& host);

 private:
  Result<void> read_config();
  void tell(const std::string& note);
  std::shared_ptr<const KnownHosts> known_hosts(const std::vector<std::string>& files);
  std::shared_ptr<const Identity> identity(const std::string& path);
  void add_identities(Route& route, const HostConfig& config);
  void add_certificate(Route& route, const std::string& path, bool named);
  std::shared_ptr<const RevokedKeys> revoked_keys(const std::string& path);
  std::shared_ptr<Agent> agent(const HostConfig& config);

  const Surroundings surroundings_;
  const std::optional<HostKey> host_key_;
  const std::function<void(const std::string&)> note_;
  const std::shared_ptr<Watchdog> watchdog_;
  std::set<std::string> noted_;
  std::optional<Config> config_;
  std::map<std::vector<std::string>, std::shared_ptr<const KnownHosts>> known_hosts_;
  std::map<std::string, std::shared_ptr<const Identity>> identities_;
  std::map<std::string, std::shared_ptr<const Certificate>> certificates_;
  std::map<std::string, std::shared_ptr<const RevokedKeys>> revoked_keys_;
  std::map<std::string, std::shared_ptr<Agent>> agents_;
};

}  // namespace dlaunch::transport::ssh
