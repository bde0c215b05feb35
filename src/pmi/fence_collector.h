// The data that the ranks of a job exchange: the key-value space of a world on one host, the fences of a world over its
// hosts, and published names. PURE.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "pmi/actions.h"

namespace dlaunch::pmi {

// The key-value space of a world on one host: the pairs of the host's own ranks, and those of other hosts up to the
// last fence. Owned by a PmiServer. PURE.

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

/// The text for a fence that a rank can never reach. `rank`: "rank 3".
std::string broken_fence(const std::string& rank);

class FenceCollector {
 public:
  /// `ranks_of_host[h]` is the number of the world's ranks on host h; a host without ranks does not take part. `number`
  /// is the number of the world, `first` the number of its rank 0.
  explicit FenceCollector(std::vector<int> ranks_of_host, int number = 1, std::uint32_t first = 0);

  /// A host that joined later has no ranks and does not take part.
  bool takes_part(int host) const {
    const auto at = static_cast<size_t>(host);
    return at < takes_part_.size() && takes_part_[at];
  }

  /// The messages for every participating host, in the order of the result.
  struct Shared {
    std::vector<std::string> pairs;  ///< key, value, …
    bool last = false;
    std::string broken;  ///< the reason of a failed fence; empty: success
  };

  /// Takes the part of a host. Returns the protocol error, or an empty text.
  std::string take(int host, std::vector<std::string> pairs, const std::vector<std::uint32_t>& gone);
  /// A rank of the host has ended. The fence does not wait for a host without ranks.
  void rank_ended(int host, std::uint32_t rank);
  /// The result, once, after the last host; empty before.
  std::vector<Shared> take_result();

 private:
  bool complete() const { return came_ > 0 && came_ + empty_ == hosts_; }
  std::string name(std::uint32_t rank) const;

  const int number_;
  const std::uint32_t first_;
  std::vector<bool> takes_part_;
  size_t hosts_ = 0;  // number of participating hosts
  std::vector<int> ranks_left_;
  std::vector<bool> has_come_;
  std::vector<std::string> pairs_;
  size_t bytes_ = 0;
  size_t came_ = 0;
  size_t empty_ = 0;                            // hosts without living ranks that have not sent their part
  std::optional<std::uint32_t> missing_;        // a rank that can never reach the fence
  std::optional<std::uint32_t> last_of_empty_;  // the last ended rank of such a host
};

/// The names that ranks of a job publish for each other (MPI_Publish_name). PURE. Owned by the launcher.
class NameService {
 public:
  static constexpr size_t kMost = 10000;           ///< limit of names at a time
  static constexpr size_t kMostBytes = 16u << 20;  ///< limit for all names and ports together

  struct Answer {
    bool ok = false;
    std::string port;  ///< set by a successful lookup
  };
  Answer ask(NameOp op, const std::string& service, const std::string& port);

 private:
  bool publish(const std::string& service, const std::string& port);

  std::map<std::string, std::string> ports_;
  size_t bytes_ = 0;
};

}  // namespace dlaunch::pmi
