// The key-value space of a world on one host: the pairs of the host's own ranks, and those of other hosts up to the
// last fence. Owned by a PmiServer. PURE.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dlaunch::pmi {

inline constexpr size_t kMaxSpace = 64u << 20;  ///< limit, counted by size_of_pair(); 10,000 ranks of MPICH put 24 MB
inline constexpr size_t kMaxUnsent = 8u << 20;  ///< limit for one host between two fences: half a frame

/// The size of a pair: its bytes, and its overhead in a frame and in memory.
inline size_t size_of_pair(const std::string& key, const std::string& value) {
  constexpr size_t kOverhead = 32;
  return key.size() + value.size() + kOverhead;
}

class KeyValueStore {
 public:
  /// Adds a pair, visible on this host at once, on other hosts after the next fence. Returns false if the space is
  /// full.
  bool put(std::string key, std::string value);
  /// Adds the pairs of all hosts. Returns false if the space is full.
  bool take(const std::vector<std::string>& pairs);
  const std::string* find(const std::string& key) const;

  /// Takes the pairs put here since the last call: key, value, key, value, …
  std::vector<std::string> take_unsent();

 private:
  bool store(std::string key, std::string value);

  std::unordered_map<std::string, std::string> values_;
  std::vector<std::string> unsent_;
  size_t bytes_ = 0;
  size_t unsent_bytes_ = 0;
};

}  // namespace dlaunch::pmi
