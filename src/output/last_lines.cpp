#include "output/last_lines.h"

#include <algorithm>

#include "output/json_text.h"
#include "output/line_splitter.h"

namespace dlaunch::output {
namespace {

std::string_view without_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

void Tail::add(std::string_view bytes) {
  if (bytes.size() >= limit_) {
    whole_ = whole_ && bytes_.empty() && bytes.size() == limit_;
    bytes_ = bytes.substr(bytes.size() - limit_);
    return;
  }
  if (bytes_.size() + bytes.size() > 2 * limit_) {
    bytes_.erase(0, bytes_.size() - (limit_ - bytes.size()));
    whole_ = false;
  }
  bytes_ += bytes;
}

std::vector<std::string> last_lines(std::string_view tail, bool whole, std::size_t count) {
  std::vector<std::string_view> lines;
  Records records(tail);
  for (std::string_view record = records.next(); !record.empty(); record = records.next()) lines.push_back(record);
  if (!records.rest().empty()) lines.push_back(records.rest());
  if (!whole && lines.size() > 1) lines.erase(lines.begin());
  std::vector<std::string> found;
  for (const std::string_view line : lines) {
    const std::string_view text = without_end(line);
    if (!text.empty()) found.emplace_back(text.substr(0, utf8_cut(text, kMaxLine)));
  }
  found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(std::min(count, found.size())));
  return found;
}

}  // namespace dlaunch::output
