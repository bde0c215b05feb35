// Resolves names side by side, with one time limit for all: name servers that do not answer cost the job no more,
// however many names there are.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "sys/lookup.h"

namespace dlaunch::allocate {

class NameResolver {
 public:
  /// A function that returns when the descriptor is readable, or at the deadline.
  using Wait = std::function<void(const sys::Fd& answered, Time deadline)>;

  static constexpr std::chrono::seconds kLimit{10};  ///< for all names together, from the first one on

  /// `wait` is for a caller that has other work meanwhile.
  explicit NameResolver(Wait wait = sys::wait_readable, std::chrono::milliseconds limit = kLimit)
      : wait_(std::move(wait)), limit_(limit) {}

  /// Starts a lookup and does not wait.
  void ask(const std::string& name);
  /// The addresses as inet_ntop writes them; none when the name does not resolve, or is not answered in time.
  std::vector<std::string> addresses(const std::string& name);
  /// Why names for which addresses() waited in vain have no address; empty when there are none.
  std::string trouble() const;

 private:
  const Wait wait_;
  const std::chrono::milliseconds limit_;
  std::optional<Time> deadline_;
  std::map<std::string, sys::Lookup> asked_;
  std::map<std::string, std::vector<std::string>> known_;
  std::vector<std::string> unanswered_;
};

}  // namespace dlaunch::allocate
