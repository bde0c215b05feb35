// What a launcher says to agents that shall connect to it: a line in what they read anyway, after a mark that nothing
// else holds. It holds the job's key, and so it stands in no argv, environment or file of others. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dialback/endpoint.h"
#include "dialback/job_key.h"

namespace dlaunch::dialback {

inline constexpr size_t kMostContact = 256;  ///< bytes after the mark

struct LauncherContact {
  Endpoint at;      ///< numeric
  std::string key;  ///< its text
};

/// A line, with a line end on both sides, which a shell takes for a comment.
std::string contact_line(const LauncherContact& contact, std::string_view nonce);

/// Finds it in what is read, at the cost of a few bytes of memory, whatever stands before it.
class ContactReader {
 public:
  explicit ContactReader(std::string_view nonce);

  /// The contact, once it has come whole.
  std::optional<LauncherContact> feed(std::string_view bytes);
  /// What came in its place cannot be understood.
  bool broken() const { return broken_; }

 private:
  const std::string mark_;
  std::string buffer_;
  bool broken_ = false;
};

}  // namespace dlaunch::dialback
