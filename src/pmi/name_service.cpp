#include "pmi/name_service.h"

namespace dlaunch::pmi {

NameService::Answer NameService::ask(NameOp op, const std::string& service, const std::string& port) {
  switch (op) {
    case NameOp::publish:
      return {publish(service, port), {}};
    case NameOp::lookup: {
      const auto found = ports_.find(service);
      if (found == ports_.end()) return {};
      return {true, found->second};
    }
    case NameOp::unpublish: {
      const auto found = ports_.find(service);
      if (found == ports_.end()) return {};
      bytes_ -= service.size() + found->second.size();
      ports_.erase(found);
      return {true, {}};
    }
  }
  return {};
}

bool NameService::publish(const std::string& service, const std::string& port) {
  const size_t bytes = bytes_ + service.size() + port.size();
  if (ports_.size() >= kMost || bytes > kMostBytes || !ports_.emplace(service, port).second) return false;
  bytes_ = bytes;
  return true;
}

}  // namespace dlaunch::pmi
