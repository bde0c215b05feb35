// The file of RevokedHostKeys: a list of public keys, or a key revocation list made by ssh-keygen -k. PURE.
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
  /// Parses the whole file. One that cannot be understood to its end has a trouble(), and every key may be revoked.
  explicit RevokedKeys(std::string_view text);
  /// Stands for a file that cannot be read.
  static std::shared_ptr<const RevokedKeys> unreadable();

  /// Why has() cannot tell; empty: it can.
  const std::string& trouble() const { return trouble_; }
  /// Takes a plain key, and its SHA-256.
  bool has(const std::string& key, std::string_view sha256) const;

 private:
  void read_list(std::string_view text);
  void read_revocation_list(std::string_view bytes);
  bool read_section(char type, std::string_view bytes);

  std::string trouble_;
  std::set<std::string, std::less<>> keys_;
  std::set<std::string, std::less<>> hashes_;  // SHA-1's and SHA-256's, which differ in length
  std::vector<std::string> certificates_;      // certificates in a list revoke the keys that they are for
};

}  // namespace dlaunch::transport::ssh
