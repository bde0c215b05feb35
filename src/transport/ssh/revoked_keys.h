// The file of RevokedHostKeys: a list of public keys, or a key revocation list as ssh-keygen -k makes it. PURE.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::transport::ssh {

class RevokedKeys {
 public:
  /// All of the file. One that cannot be understood to its end leaves a trouble(): then every key may be revoked.
  explicit RevokedKeys(std::string_view text);
  /// Of a file that cannot be read.
  static std::shared_ptr<const RevokedKeys> unreadable();

  /// Why nobody can tell; empty: has() can.
  const std::string& trouble() const { return trouble_; }
  /// A plain key, and the SHA-256 of it.
  bool has(const std::string& key, std::string_view sha256) const;

 private:
  void read_list(std::string_view text);
  void read_revocation_list(std::string_view bytes);
  bool read_section(char type, std::string_view bytes);

  std::string trouble_;
  std::set<std::string, std::less<>> keys_;
  std::set<std::string, std::less<>> hashes_;  // SHA-1's and SHA-256's: they differ in size
  std::vector<std::string> certificates_;      // of a list: they revoke the keys that they are for
};

}  // namespace dlaunch::transport::ssh
