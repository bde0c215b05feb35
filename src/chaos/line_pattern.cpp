#include "chaos/line_pattern.h"

#include <re2/re2.h>

#include <memory>

namespace dlaunch::chaos {

Result<std::function<bool(std::string_view line)>> line_pattern(std::string_view text) {
  RE2::Options options(RE2::Latin1);  // bytes: a line may not be UTF-8
  options.set_log_errors(false);
  const auto pattern = std::make_shared<const RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (!pattern->ok()) return fail({"", pattern->error(), "", ""});
  return [pattern](std::string_view line) {
    return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *pattern);
  };
}

}  // namespace dlaunch::chaos
