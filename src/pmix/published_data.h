// Data that ranks publish for each other through PMIx, for MPI_Publish_name and for the connection of groups of ranks.
// PURE. Owned by the launcher.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pmix/collectives.h"

namespace dlaunch::pmix {

class PublishedData {
 public:
  static constexpr size_t kMost = 100000;  ///< limit of names, and of waiting lookups
  /// limit of bytes in all keys and values, and in all keys of waiting lookups
  static constexpr size_t kMostBytes = 16u << 20;
  static constexpr size_t kMostKeys = 1000;       ///< limit for one request
  static constexpr size_t kMostFound = 2u << 20;  ///< limit for one answer

  /// The requesting rank, and the target of the answer.
  struct Asker {
    int host = 0;
    std::uint32_t id = 0;
    ProcId rank;
  };
  struct Found {
    ProcId owner;
    std::string key;
    std::string value;
  };
  struct Answer {
    int host = 0;
    std::uint32_t id = 0;
    PmixStatus status = PmixStatus::ok;
    std::vector<Found> found;
  };
  using Answers = std::vector<Answer>;

  /// `once`: the first lookup removes the data. The result answers waiting lookups.
  Answers publish(const Asker& asker, const std::vector<std::string>& keys, const std::vector<std::string>& values,
                  bool once);
  /// `wait`: answer after all keys are published; otherwise answer with the published keys, or not_found if there are
  /// none.
  Answers look_up(const Asker& asker, const std::vector<std::string>& keys, bool wait);
  /// Removes only data of the requesting rank; without keys, all of its data.
  Answers unpublish(const Asker& asker, const std::vector<std::string>& keys);
  /// The rank has ended: its lookups are dropped, its data stays.
  void ended(const ProcId& rank);

 private:
  struct Entry {
    ProcId owner;
    std::string value;
    bool once = false;
  };
  struct Waiting {
    Asker asker;
    std::vector<std::string> keys;
  };

  Answer answer(const Asker& asker, const std::vector<std::string>& keys, size_t most);
  std::vector<Found> take(const std::vector<std::string>& keys);
  size_t bytes_of(const std::vector<std::string>& keys) const;
  bool has_all(const std::vector<std::string>& keys) const;
  void erase(std::map<std::string, Entry>::iterator at);

  std::map<std::string, Entry> entries_;
  std::vector<Waiting> waiting_;
  size_t bytes_ = 0;
  size_t awaited_ = 0;  // bytes of the keys in waiting_
};

}  // namespace dlaunch::pmix
