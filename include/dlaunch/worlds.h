// The world of each rank of a job. World 1 is the job that the user started; each spawn begins another: 2, 3, … Inside
// dlaunch ranks have ids: those of world 1 from 0 on, then those of each later world, without a gap. A value.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace dlaunch {

class Worlds {
 public:
  struct Place {
    int world = 1;
    int rank = 0;  ///< in its world
    bool operator==(const Place&) const = default;
  };

  /// Begins the next world with this id, and returns its number.
  int begin(int first);
  /// The number of the newest world.
  int last() const { return 1 + static_cast<int>(later_.size()); }
  /// The id of the world's rank 0.
  int first(int world) const { return world == 1 ? 0 : later_[static_cast<size_t>(world) - 2]; }
  /// The number of the world's ranks, where `all` is that of all worlds together.
  int size(int world, int all) const { return (world == last() ? all : first(world + 1)) - first(world); }

  Place place(int id) const;
  /// "3" in world 1, "2/3" in a later world.
  std::string name(int id) const { return rank_name(place(id)); }
  /// Many ids in few words: "0-2,5,2/0-1".
  std::string fold(const std::set<int>& ids) const;

  static std::string rank_name(Place place);
  bool operator==(const Worlds&) const = default;

 private:
  std::vector<int> later_;  // the first ids of worlds 2, 3, …
};

}  // namespace dlaunch
