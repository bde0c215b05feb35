// Collects the stderr lines of a transport's command and selects the reason for a lost host. The reason is the last
// line, or the line in which a resource manager reports an ended step or a failed launch. PURE.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "place/line_meaning.h"

namespace dlaunch::transport {

struct ReasonLine {
  std::string text = {};  ///< empty: none
  place::LineMeaning meaning = place::LineMeaning::unknown;
  std::int64_t read_ns = 0;  ///< wall clock
};

class ReasonLines {
 public:
  using OnLine = std::function<void(const std::string& line)>;

  /// Accepts any bytes; calls `on_line` for each completed line. `now_ns`: the wall clock.
  void take(std::string_view bytes, std::int64_t now_ns, const OnLine& on_line);
  /// The current reason.
  ReasonLine last() const;
  /// Drops the lines so far: the command has succeeded, so the lines are not reasons for a failure.
  void forget();

 private:
  bool has_cause() const;

  std::string partial_;
  ReasonLine last_;
  std::int64_t read_ns_ = 0;
};

/// The last two lines of a command's output: the first line names the place, the last line the error.
std::string last_lines(std::string_view output);

/// True if OpenSSH's client reports that sshd closed the login without a reason: throttled (MaxStartups) or killed.
bool is_dropped_login(std::string_view words);

}  // namespace dlaunch::transport
