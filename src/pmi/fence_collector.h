// A fence of one world over its hosts, as the launcher sees it: each host's part comes in, and once every host has
// come, the parts of all go out to each. PURE. Owned by the launcher.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch::pmi {

/// The text for a person about a fence that a rank can never reach. `rank`: "rank 3".
std::string broken_fence(const std::string& rank);

class FenceCollector {
 public:
  /// `ranks_of_host[h]` is how many of the world's ranks run on host h; a host without any takes no part. `number` is
  /// the world's, `first` the number of its rank 0.
  explicit FenceCollector(std::vector<int> ranks_of_host, int number = 1, std::uint32_t first = 0);

  /// A host that joined the job later has none of the ranks and takes no part.
  bool takes_part(int host) const {
    const auto at = static_cast<size_t>(host);
    return at < takes_part_.size() && takes_part_[at];
  }

  /// What goes to every host that takes part, in the order of the result.
  struct Shared {
    std::vector<std::string> pairs;  ///< key, value, …
    bool last = false;
    std::string broken;  ///< why the fence failed; empty: it did not
  };

  /// Takes a host's part. Returns how it breaks the order, or an empty text.
  std::string take(int host, std::vector<std::string> pairs, const std::vector<std::uint32_t>& gone);
  /// A rank of the host has ended; a host without ranks is waited for no longer.
  void rank_ended(int host, std::uint32_t rank);
  /// The result, once, when every host has come; empty before.
  std::vector<Shared> take_result();

 private:
  bool complete() const { return came_ > 0 && came_ + empty_ == hosts_; }
  std::string name(std::uint32_t rank) const;

  const int number_;
  const std::uint32_t first_;
  std::vector<bool> takes_part_;
  size_t hosts_ = 0;  // number of those that take part
  std::vector<int> ranks_left_;
  std::vector<bool> has_come_;
  std::vector<std::string> pairs_;
  size_t bytes_ = 0;
  size_t came_ = 0;
  size_t empty_ = 0;                            // hosts that have not come and have no ranks left
  std::optional<std::uint32_t> missing_;        // a rank that can never come to the fence
  std::optional<std::uint32_t> last_of_empty_;  // the last rank of a host without any
};

}  // namespace dlaunch::pmi
