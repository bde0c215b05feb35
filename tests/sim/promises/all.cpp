#include "promises/promises.h"
#include "promises/sentences.h"

namespace sim {

std::vector<std::unique_ptr<Promise>> all_promises(World& world, const History& history) {
  std::vector<std::unique_ptr<Promise>> all;
  all.push_back(std::make_unique<Ends>(world));
  all.push_back(std::make_unique<NothingLeft>());
  all.push_back(std::make_unique<FirstFailure>(world));
  all.push_back(std::make_unique<Grace>(world));
  all.push_back(std::make_unique<Bytes>());
  all.push_back(std::make_unique<OneOfARank>(world, history));
  all.push_back(std::make_unique<Restarts>(world, history));
  all.push_back(std::make_unique<Sentences>(world));
  return all;
}

}  // namespace sim
