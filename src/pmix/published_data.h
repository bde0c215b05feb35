// What ranks publish for each other through PMIx: MPI_Publish_name, and how two groups of ranks find each other. PURE.
// Owned by the launcher.
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
  static constexpr size_t kMost = 100000;          ///< names at one time, and questions that wait; one more is refused
  static constexpr size_t kMostBytes = 16u << 20;  ///< of all keys and values, and of all keys that are waited for
  static constexpr size_t kMostKeys = 1000;        ///< of one question
  static constexpr size_t kMostFound = 2u << 20;   ///< bytes of one answer

  /// Who asks, and how the answer finds back.
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

  /// `once`: the first to look it up takes it away. May answer those that waited.
  Answers publish(const Asker& asker, const std::vector<std::string>& keys, const std::vector<std::string>& values,
                  bool once);
  /// `wait`: answered once all are there; else what is there now, with not_found when that is nothing.
  Answers look_up(const Asker& asker, const std::vector<std::string>& keys, bool wait);
  /// Only what the asker itself published; no keys: all of it.
  Answers unpublish(const Asker& asker, const std::vector<std::string>& keys);
  /// It waits for nothing more. What it published stays.
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
  size_t awaited_ = 0;  // bytes of the keys of waiting_
};

}  // namespace dlaunch::pmix
