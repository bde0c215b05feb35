// The world of each rank. World 1 has the ranks that the user started. Each MPI_Comm_spawn adds a world: 2, 3, … Inside
// dlaunch, each rank has an id. The ids of world 1 start at 0; the ids of later worlds follow without a gap.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace dlaunch {

class Worlds {
 public:
  struct Place {
    int world = 1;
    int rank = 0;  ///< number in its world
    bool operator==(const Place&) const = default;
  };

  /// Starts the next world, and returns the number of this world. `first` is the id of rank 0 in this world.
  int begin(int first);
  /// The number of the newest world.
  int last() const { return 1 + static_cast<int>(later_.size()); }
  /// The id of rank 0 in the world.
  int first(int world) const { return world == 1 ? 0 : later_[static_cast<size_t>(world) - 2]; }
  /// The number of ranks in the world; `all` is the number of ranks in all worlds.
  int size(int world, int all) const { return (world == last() ? all : first(world + 1)) - first(world); }

  Place place(int id) const;
  /// "3" in world 1, "2/3" in a later world.
  std::string name(int id) const { return rank_name(place(id)); }
  /// A short list of ids. "0-2,5,2/0-1": ranks 0 to 2 and 5 of world 1, ranks 0 and 1 of world 2.
  std::string fold(const std::set<int>& ids) const;

  static std::string rank_name(Place place);
  bool operator==(const Worlds&) const = default;

 private:
  std::vector<int> later_;  // the first ids of worlds 2, 3, …
};

}  // namespace dlaunch
