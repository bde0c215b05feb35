// Resolves names in parallel, with one time limit for all of them. Name servers without an answer delay the job by at
// most this limit, for any number of names.
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

namespace dlaunch::net {

class NameResolver {
 public:
  /// Returns when the descriptor is readable, or at the deadline.
  using Wait = std::function<void(const sys::Fd& answered, Time deadline)>;

  static constexpr std::chrono::seconds kLimit{10};  ///< for all names together, from the first lookup

  /// `wait` lets the caller do other work meanwhile.
  explicit NameResolver(Wait wait = sys::wait_readable, std::chrono::milliseconds limit = kLimit)
      : wait_(std::move(wait)), limit_(limit) {}

  /// Starts a lookup and does not wait.
  void ask(const std::string& name);
  /// The addresses in the form of inet_ntop; empty if the name does not resolve or the time limit passes.
  std::vector<std::string> addresses(const std::string& name);
  /// The reason for names without an answer in time; empty if all names have an answer.
  std::string trouble() const;

 private:
  const Wait wait_;
  const std::chrono::milliseconds limit_;
  std::optional<Time> deadline_;
  std::map<std::string, sys::Lookup> asked_;
  std::map<std::string, std::vector<std::string>> known_;
  std::vector<std::string> unanswered_;
};

}  // namespace dlaunch::net
