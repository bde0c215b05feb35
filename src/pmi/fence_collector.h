// A fence of one world over its hosts, for the launcher: collects the part of each host, and returns the parts of all
// after the last one. PURE. Owned by the launcher.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch::pmi {

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

}  // namespace dlaunch::pmi
