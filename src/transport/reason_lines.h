// Collects the stderr lines of a transport's command and selects the reason for a lost host. The reason is the last
// line, or the line in which a resource manager reports an ended step or a failed launch. PURE.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace dlaunch::transport {

class ReasonLines {
 public:
  using OnLine = std::function<void(const std::string& line)>;

  /// Accepts any bytes; calls `on_line` for each completed line.
  void take(std::string_view bytes, const OnLine& on_line);
  /// The current reason.
  std::string last() const;
  /// Drops the lines up to now: the command has done its work, so they are not reasons.
  void forget();

 private:
  bool has_cause() const;

  std::string partial_;
  std::string last_;
};

}  // namespace dlaunch::transport
