// The file of RevokedHostKeys: a list of public keys, or a key revocation list of ssh-keygen -k. PURE.
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
