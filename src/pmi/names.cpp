#include "pmi/names.h"

namespace dlaunch::pmi {

Names::Answer Names::ask(NameOp op, const std::string& service, const std::string& port) {
  switch (op) {
    case NameOp::publish:
      return {ports_.size() < kMost && ports_.emplace(service, port).second, {}};
    case NameOp::lookup: {
      const auto found = ports_.find(service);
      if (found == ports_.end()) return {};
      return {true, found->second};
    }
    case NameOp::unpublish:
      return {ports_.erase(service) > 0, {}};
  }
  return {};
}

}  // namespace dlaunch::pmi
