// The lines that a transport's command writes to its stderr, and which of them is the reason should its host be lost:
// the last one, or the one that says that a resource manager ended all, or what it could not start. PURE.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace dlaunch::transport {

class ReasonLines {
 public:
  using Told = std::function<void(const std::string& line)>;

  /// Any bytes; `told` hears of each line that they end.
  void take(std::string_view bytes, const Told& told);
  /// The reason as of now.
  std::string last() const;
  /// Lines that were written until now are not reasons any more, because the command has done its work.
  void forget();

 private:
  bool has_cause() const;

  std::string partial_;
  std::string last_;
};

}  // namespace dlaunch::transport
