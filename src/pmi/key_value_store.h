// A world's key-value space as one host has it: what its own ranks put, and what the others put before the last fence.
// Owned by a PmiServer. PURE.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dlaunch::pmi {

inline constexpr size_t kMaxSpace = 64u << 20;  ///< counted by size_of_pair(); 10,000 ranks of MPICH put 24 MB
inline constexpr size_t kMaxUnsent = 8u << 20;  ///< put by one host between two fences: half a frame

/// What a pair counts: its bytes, and its overhead in a frame and in memory.
inline size_t size_of_pair(const std::string& key, const std::string& value) {
  constexpr size_t kOverhead = 32;
  return key.size() + value.size() + kOverhead;
}

class KeyValueStore {
 public:
  /// Adds a pair that is visible here at once, elsewhere after the next fence. False when there is no room.
  bool put(std::string key, std::string value);
  /// Adds what came from all hosts. False when there is no room.
  bool take(const std::vector<std::string>& pairs);
  const std::string* find(const std::string& key) const;

  /// Takes what was put here since the last call: key, value, key, value, …
  std::vector<std::string> take_unsent();

 private:
  bool store(std::string key, std::string value);

  std::unordered_map<std::string, std::string> values_;
  std::vector<std::string> unsent_;
  size_t bytes_ = 0;
  size_t unsent_bytes_ = 0;
};

}  // namespace dlaunch::pmi
