// A fence of one world over its hosts, as the launcher sees it: each host's part comes in, and once every host has come
// what all of them put goes out, the same to each. PURE. Owned by the launcher.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch::pmi {

/// What a person reads when a fence was broken by a rank that can never come to it. `rank`: "rank 3".
std::string broken_fence(const std::string& rank);

class FenceCollector {
 public:
  /// `ranks_of_host[h]`: how many of its ranks run on host h; one without any takes no part. `number`, `first`:
  /// the world's, and the number of its rank 0.
  explicit FenceCollector(std::vector<int> ranks_of_host, int number = 1, std::uint32_t first = 0);

  /// A host that joined the job later has none of its ranks.
  bool takes_part(int host) const {
    const auto at = static_cast<size_t>(host);
    return at < takes_part_.size() && takes_part_[at];
  }

  /// What goes to every host that takes part, in this order.
  struct Shared {
    std::vector<std::string> pairs;  ///< key, value, …
    bool last = false;
    std::string broken;  ///< why there is no fence; empty: there is
  };

  /// Empty, or how the host breaks the order.
  std::string take(int host, std::vector<std::string> pairs, const std::vector<std::uint32_t>& gone);
  /// A rank of the host has ended: a host without any is waited for no longer.
  void rank_ended(int host, std::uint32_t rank);
  /// Once, when every host has come; empty before.
  std::vector<Shared> take_result();

 private:
  bool complete() const { return came_ > 0 && came_ + empty_ == hosts_; }
  std::string name(std::uint32_t rank) const;

  const int number_;
  const std::uint32_t first_;
  std::vector<bool> takes_part_;
  size_t hosts_ = 0;  // that take part
  std::vector<int> ranks_left_;
  std::vector<bool> has_come_;
  std::vector<std::string> pairs_;
  size_t bytes_ = 0;
  size_t came_ = 0;
  size_t empty_ = 0;                            // hosts that have not come and have no ranks left
  std::optional<std::uint32_t> missing_;        // a rank that can never come
  std::optional<std::uint32_t> last_of_empty_;  // the last rank of a host without any
};

}  // namespace dlaunch::pmi
