#include "promises/promises.h"

namespace sim {

std::vector<std::unique_ptr<Promise>> all_promises(World& world, const History&) {
  std::vector<std::unique_ptr<Promise>> all;
  all.push_back(std::make_unique<NothingLeft>());
  all.push_back(std::make_unique<FirstFailure>());
  all.push_back(std::make_unique<Bytes>());
  all.push_back(std::make_unique<OneOfARank>(world));
  all.push_back(std::make_unique<Restarts>());
  return all;
}

}  // namespace sim
