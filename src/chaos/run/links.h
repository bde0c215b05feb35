// The links of a job, reported by their proxies (run_link()): one word to a proxy cuts, slows, closes or heals its
// link. Owned by ChaosJob.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "sys/fd.h"

namespace dlaunch::chaos {

class Links {
 public:
  /// Listens at this path; throws std::system_error on failure.
  explicit Links(const std::string& path);

  /// Poll these descriptors for reading, then call ready().
  std::vector<int> fds() const;
  void ready(int fd);

  /// Hosts with a link.
  std::vector<std::string> hosts() const;
  /// The pids of the commands that the host's link has started, latest first.
  std::vector<int> commands(const std::string& host) const;

  /// Sends this word to each present and future link of the host: "hold", "rate 1000", "pass".
  void tell(const std::string& host, const std::string& word);
  /// Closes the existing links. Returns false if there is none.
  bool close(const std::string& host);

 private:
  struct Proxy {
    sys::Fd control;
    std::string host;  // empty: unknown yet
    int command = 0;
  };

  void accept();
  void hear(Proxy& proxy);

  sys::Fd listener_;
  std::vector<Proxy> proxies_;
  std::map<std::string, std::string> words_;  // by host; none: "pass"
};

/// The process between a launcher and the command that connects to a host: it carries the bytes of the link, and holds,
/// slows or closes it for dlaunch chaos. After the end of dlaunch chaos, this process only carries the bytes. `words`:
/// the path of the socket of Links, the name of the host, and the command with its words. The link is on 0 and 1, one
/// socket. Returns the exit code of the command.
Result<int> run_link(const std::vector<std::string>& words);

}  // namespace dlaunch::chaos
