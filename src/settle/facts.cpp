#include "settle/facts.h"

namespace dlaunch::settle {

std::vector<std::string> Names::addresses(const std::string& name) {
  const LookUp question{name};
  const auto* const answer = facts_.find(question);
  if (!answer) {
    open_.emplace_back(question);
    return {};
  }
  if (answer->trouble.size() > trouble_.size()) trouble_ = answer->trouble;  // of all names until then
  return answer->addresses;
}

Settling<void> Names::complete() const {
  if (open_.empty()) return {};
  return tl::unexpected(Stop(open_));
}

}  // namespace dlaunch::settle
