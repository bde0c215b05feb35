// The keys of hosts in known_hosts files, parsed and indexed once for all hosts. Plain names are found by index;
// patterns and hashed names are compared one by one. PURE.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
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

/// The names of a host in the files.
struct KnownName {
  std::string name;  ///< in lower case; "[name]:port" unless the port is 22
  /// For other ports: the name without the port; a matching key of this name is also accepted. Empty for port 22.
  std::string bare;
};
/// `alias`: HostKeyAlias, replaces host and port; may be empty.
KnownName known_name(std::string_view host, int port, std::string_view alias);

class KnownHosts {
 public:
  struct Found {
    std::vector<KnownKey> keys;
    std::vector<KnownKey> revoked;
    bool authority = false;  ///< a @cert-authority line also names the host
  };

  void add_file(const std::string& path, std::string_view text);
  Found find(std::string_view name) const;

 private:
  enum class Mark { none, revoked, authority };
  struct Line {
    KnownKey key;
    Mark mark = Mark::none;
    std::vector<std::string> patterns = {};  // set if a name is a pattern
    std::optional<HmacSha1> salted = {};     // set if the name is hashed
    HmacSha1::Digest hash = {};
  };
  void add_line(const std::string& path, int number, std::string_view text);
  static bool matches(const Line& line, std::string_view name);

  std::vector<Line> lines_;
  std::unordered_map<std::string, std::vector<size_t>> by_name_;
  std::vector<size_t> to_try_;
};

/// All entries of the files for one host.
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
  KnownKey line;  ///< the line that decided, if any
};
KeyVerdict verdict_on(const KnownHost& host, std::string_view type, std::string_view key);

/// Sorts the algorithms of `allowed` (empty: the defaults): first the algorithms of the host's known keys.
std::string preferred_algorithms(const KnownHost& host, std::string_view allowed);

/// A line for the user's file, with a newline. The name is hashed with `salt`; an empty salt means plain text.
std::string known_hosts_line(const KnownName& name, std::string_view type, std::string_view key, std::string_view salt);

// The file of RevokedHostKeys: a list of public keys, or a key revocation list of ssh-keygen -k. PURE.

class RevokedKeys {
 public:
  /// Parses the whole file. If the file is not fully understood, trouble() is set, and every key may be revoked.
  explicit RevokedKeys(std::string_view text);
  /// The result for an unreadable file.
  static std::shared_ptr<const RevokedKeys> unreadable();

  /// Why has() has no answer; empty: has() is reliable.
  const std::string& trouble() const { return trouble_; }
  /// Expects a plain key and its SHA-256.
  bool has(const std::string& key, std::string_view sha256) const;

 private:
  void read_list(std::string_view text);
  void read_revocation_list(std::string_view bytes);
  bool read_section(char type, std::string_view bytes);

  std::string trouble_;
  std::set<std::string, std::less<>> keys_;
  std::set<std::string, std::less<>> hashes_;  // of SHA-1 and SHA-256; they differ in length
  std::vector<std::string> certificates_;      // a certificate in a list revokes its key
};

}  // namespace dlaunch::transport::ssh
