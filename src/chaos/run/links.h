// The links of a job, as their proxies (link_proxy.h) tell of them: cut, slowed, closed and healed by a word to each.
// Owned by ChaosJob.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sys/fd.h"

namespace dlaunch::chaos {

class Links {
 public:
  /// Listens at this path; throws std::system_error where that fails.
  explicit Links(const std::string& path);

  /// To be polled for reading, and told of by ready().
  std::vector<int> fds() const;
  void ready(int fd);

  /// Hosts with a link.
  std::vector<std::string> hosts() const;
  /// What the host's link has started, the latest first: the pids of its commands.
  std::vector<int> commands(const std::string& host) const;

  /// From now on each link of the host is told this, those that are yet to come, too: "hold", "rate 1000", "pass".
  void tell(const std::string& host, const std::string& word);
  /// Closes the links that are there. False: none is.
  bool close(const std::string& host);

 private:
  struct Proxy {
    sys::Fd control;
    std::string host;  // empty: it has not said it yet
    int command = 0;
  };

  void accept();
  void hear(Proxy& proxy);

  sys::Fd listener_;
  std::vector<Proxy> proxies_;
  std::map<std::string, std::string> words_;  // by host; none: "pass"
};

}  // namespace dlaunch::chaos
