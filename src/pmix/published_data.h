// What ranks publish for each other through PMIx, for MPI_Publish_name and for groups of ranks that look for each
// other. PURE. Owned by the launcher.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pmix/members.h"
#include "pmix/status.h"

namespace dlaunch::pmix {

class PublishedData {
 public:
  static constexpr size_t kMost = 100000;          ///< names, and also waiting lookups, at one time; more are refused
  static constexpr size_t kMostBytes = 16u << 20;  ///< in all keys and values, and in all keys that lookups wait for
  static constexpr size_t kMostKeys = 1000;        ///< in one question
  static constexpr size_t kMostFound = 2u << 20;   ///< bytes of one answer

  /// Who asks, and where the answer goes.
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

  /// `once`: the first lookup removes the data. The result answers lookups that waited for it.
  Answers publish(const Asker& asker, const std::vector<std::string>& keys, const std::vector<std::string>& values,
                  bool once);
  /// `wait`: the answer comes once all keys are there; else it has those of now, or not_found when there are none.
  Answers look_up(const Asker& asker, const std::vector<std::string>& keys, bool wait);
  /// Removes only what the asker itself published; without keys, all of it.
  Answers unpublish(const Asker& asker, const std::vector<std::string>& keys);
  /// The rank has ended: its lookups wait no longer, its data stays.
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
