// The keys of hosts that the user knows: known_hosts files, parsed and indexed once however many hosts are looked up. A
// name that is written plainly is found at once; patterns and hashed names are tried one by one. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/digest.h"

namespace dlaunch::transport::ssh {

struct KnownKey {
  std::string type;  ///< "ssh-ed25519"
  std::string key;   ///< in base64
  std::string file;
  int line = 0;
};

/// How files name a host.
struct KnownName {
  std::string name;  ///< in lower case; "[name]:port" unless the port is 22
  std::string bare;  ///< with another port: the name alone, which is believed when it fits; else empty
};
/// `alias`: HostKeyAlias, which stands alone; may be empty.
KnownName known_name(std::string_view host, int port, std::string_view alias);

class KnownHosts {
 public:
  struct Found {
    std::vector<KnownKey> keys;
    std::vector<KnownKey> revoked;
    bool authority = false;  ///< a @cert-authority line names it, too
  };

  void add_file(const std::string& path, std::string_view text);
  Found find(std::string_view name) const;

 private:
  enum class Mark { none, revoked, authority };
  struct Line {
    KnownKey key;
    Mark mark = Mark::none;
    std::vector<std::string> patterns = {};  // when one of the names is one
    std::optional<HmacSha1> salted = {};     // when the name is hashed
    HmacSha1::Digest hash = {};
  };
  void add_line(const std::string& path, int number, std::string_view text);
  static bool matches(const Line& line, std::string_view name);

  std::vector<Line> lines_;
  std::unordered_map<std::string, std::vector<size_t>> by_name_;
  std::vector<size_t> to_try_;
};

/// What the files say of one host.
struct KnownHost {
  KnownName name;
  KnownHosts::Found named;
  KnownHosts::Found bare;
};
KnownHost find_host(const KnownHosts& known, const KnownName& name);

/// What a host's key means.
struct KeyVerdict {
  enum class Kind { known, unknown, changed, revoked, authority_only };
  Kind kind = Kind::unknown;
  KnownKey line;  ///< that decided it, where there is one
};
KeyVerdict judge(const KnownHost& host, std::string_view type, std::string_view key);

/// The algorithms of `allowed` (empty: the usual ones), those that sign with a key that is known of the host in front.
std::string preferred_algorithms(const KnownHost& host, std::string_view allowed);

/// One line for the user's file, ending in a newline. `salt`: the name is hashed with it; empty: it is not.
std::string known_hosts_line(const KnownName& name, std::string_view type, std::string_view key, std::string_view salt);

}  // namespace dlaunch::transport::ssh
