// A job's key-value space as one host has it: what its own ranks put, and what the others put before the last fence.
// Owned by a Server. PURE.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dlaunch::pmi {

inline constexpr size_t kMaxSpace = 64u << 20;  ///< as size_of_pair() counts; 10,000 ranks of MPICH put 24 MB
inline constexpr size_t kMaxUnsent = 8u << 20;  ///< of them from one host between two fences: half a frame

/// What a key and its value count: their bytes, and what they take beside them in a frame and in memory.
inline size_t size_of_pair(const std::string& key, const std::string& value) {
  constexpr size_t kOverhead = 32;
  return key.size() + value.size() + kOverhead;
}

class KeyValueStore {
 public:
  /// Visible here at once, elsewhere after the next fence. False when there is no room.
  bool put(std::string key, std::string value);
  /// What came from all hosts. False when there is no room.
  bool take(const std::vector<std::string>& pairs);
  const std::string* find(const std::string& key) const;

  /// Put here since the last call: key, value, key, value, …
  std::vector<std::string> take_unsent();

 private:
  bool store(std::string key, std::string value);

  std::unordered_map<std::string, std::string> values_;
  std::vector<std::string> unsent_;
  size_t bytes_ = 0;
  size_t unsent_bytes_ = 0;
};

}  // namespace dlaunch::pmi
