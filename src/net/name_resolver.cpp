#include "net/name_resolver.h"

#include <algorithm>

#include "base/text.h"
#include "net/this_machine.h"

namespace dlaunch::net {

void NameResolver::ask(const std::string& name) {
  if (!deadline_) deadline_ = std::chrono::steady_clock::now() + limit_;
  if (!known_.contains(name)) asked_.try_emplace(name, sys::Name{.name = name});
}

std::vector<std::string> NameResolver::addresses(const std::string& name) {
  if (const auto known = known_.find(name); known != known_.end()) return known->second;
  ask(name);
  sys::Lookup& lookup = asked_.at(name);
  if (!lookup.is_answered()) wait_(lookup.answered(), *deadline_);
  if (!lookup.is_answered()) {
    if (std::ranges::find(unanswered_, name) == unanswered_.end()) unanswered_.push_back(name);
    return {};
  }
  const sys::LookedUp found = lookup.take();
  asked_.erase(name);
  std::vector<std::string>& addresses = known_[name];
  for (const addrinfo* at = found.addresses.get(); at; at = at->ai_next) {
    if (auto address = numeric_address(at->ai_addr)) addresses.push_back(*std::move(address));
  }
  return addresses;
}

std::string NameResolver::trouble() const {
  if (unanswered_.empty()) return {};
  const auto seconds = std::chrono::round<std::chrono::seconds>(limit_).count();
  return "timed out after " + std::to_string(seconds) + " s (waiting for a name server to resolve " +
         fold_names(unanswered_) + ")";
}

}  // namespace dlaunch::net
