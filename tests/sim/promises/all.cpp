#include "promises/promises.h"
#include "promises/sentences.h"

namespace sim {

std::vector<std::unique_ptr<Promise>> all_promises(World& world, const History&) {
  std::vector<std::unique_ptr<Promise>> all;
  all.push_back(std::make_unique<Ends>(world));
  all.push_back(std::make_unique<NothingLeft>());
  all.push_back(std::make_unique<FirstFailure>());
  all.push_back(std::make_unique<Bytes>());
  all.push_back(std::make_unique<OneOfARank>(world));
  all.push_back(std::make_unique<Restarts>());
  all.push_back(std::make_unique<Sentences>(world));
  return all;
}

}  // namespace sim
