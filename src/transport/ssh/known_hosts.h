// The hosts' keys in known_hosts files, parsed and indexed once for all hosts. A plain name is found at once; patterns
// and hashed names are tried one by one. PURE.
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

/// The names under which files have a host.
struct KnownName {
  std::string name;  ///< in lower case; "[name]:port" unless the port is 22
  std::string bare;  ///< with another port: the name alone, whose key is accepted when it matches; else empty
};
/// `alias` is HostKeyAlias, used in place of host and port; may be empty.
KnownName known_name(std::string_view host, int port, std::string_view alias);

class KnownHosts {
 public:
  struct Found {
    std::vector<KnownKey> keys;
    std::vector<KnownKey> revoked;
    bool authority = false;  ///< a @cert-authority line names it as well
  };

  void add_file(const std::string& path, std::string_view text);
  Found find(std::string_view name) const;

 private:
  enum class Mark { none, revoked, authority };
  struct Line {
    KnownKey key;
    Mark mark = Mark::none;
    std::vector<std::string> patterns = {};  // when one of the names is a pattern
    std::optional<HmacSha1> salted = {};     // when the name is hashed
    HmacSha1::Digest hash = {};
  };
  void add_line(const std::string& path, int number, std::string_view text);
  static bool matches(const Line& line, std::string_view name);

  std::vector<Line> lines_;
  std::unordered_map<std::string, std::vector<size_t>> by_name_;
  std::vector<size_t> to_try_;
};

/// What the files have of one host.
struct KnownHost {
  KnownName name;
  KnownHosts::Found named;
  KnownHosts::Found bare;
};
KnownHost find_host(const KnownHosts& known, const KnownName& name);

/// The verdict on a host's key.
struct KeyVerdict {
  enum class Kind { known, unknown, changed, revoked, authority_only };
  Kind kind = Kind::unknown;
  KnownKey line;  ///< the line that decided it, if any
};
KeyVerdict judge(const KnownHost& host, std::string_view type, std::string_view key);

/// The algorithms of `allowed` (empty: the default ones), first those that sign with a known key of the host.
std::string preferred_algorithms(const KnownHost& host, std::string_view allowed);

/// A line for the user's file, ending in a newline. The name is hashed with `salt`, unless that is empty.
std::string known_hosts_line(const KnownName& name, std::string_view type, std::string_view key, std::string_view salt);

}  // namespace dlaunch::transport::ssh
