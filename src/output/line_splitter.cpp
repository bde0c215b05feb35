#include "output/line_splitter.h"

#include <algorithm>
#include <cstring>

#include "output/json_text.h"

namespace dlaunch::output {
namespace {

std::string_view without_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

/// Whether other bytes overwrite the record on a terminal: a line end '\r', and `after` it is not empty.
bool is_overwritten(std::string_view record, std::string_view after) { return record.back() == '\r' && !after.empty(); }

/// Removes overwritten records, as of progress bars.
void drop_overwritten(std::string& bytes) {
  if (bytes.find('\r') == bytes.npos) return;
  std::string kept;
  Records records(bytes);
  for (std::string_view record = records.next(); !record.empty(); record = records.next()) {
    if (!is_overwritten(record, records.rest())) kept += record;
  }
  bytes = kept += records.rest();
}

}  // namespace

std::size_t last_record_end(std::string_view bytes) {
  if (!bytes.empty() && bytes.back() == '\r') bytes.remove_suffix(1);
  if (bytes.empty()) return 0;
  const char* begin = bytes.data();
  const char* end = begin + bytes.size();
  const auto* newline = static_cast<const char*>(memrchr(begin, '\n', bytes.size()));
  const char* from = newline ? newline + 1 : begin;
  if (from == end) return bytes.size();
  const auto* cr = static_cast<const char*>(memrchr(from, '\r', static_cast<std::size_t>(end - from)));
  return static_cast<std::size_t>((cr ? cr + 1 : from) - begin);
}

Records::Records(std::string_view bytes)
    : at_(bytes.data()), end_(at_ + bytes.size()), newline_(find('\n')), carriage_return_(find('\r')) {}

std::string_view Records::next() {
  if (newline_ < at_) newline_ = find('\n');
  if (carriage_return_ < at_) carriage_return_ = find('\r');
  const char* stop = newline_;
  if (carriage_return_ < newline_) {
    if (carriage_return_ + 1 == end_) return {};
    stop = carriage_return_ + 1 == newline_ ? newline_ : carriage_return_;
  }
  if (stop == end_) return {};
  const std::string_view record(at_, static_cast<std::size_t>(stop + 1 - at_));
  at_ = stop + 1;
  return record;
}

const char* Records::find(char c) const {
  if (at_ == end_) return end_;
  const auto* found = static_cast<const char*>(std::memchr(at_, c, static_cast<std::size_t>(end_ - at_)));
  return found ? found : end_;
}

void Tail::add(std::string_view bytes) {
  if (bytes.size() < limit_ && bytes_.size() + bytes.size() > 2 * limit_) drop_overwritten(bytes_);
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
  for (std::string_view record = records.next(); !record.empty(); record = records.next()) {
    if (!is_overwritten(record, records.rest())) lines.push_back(record);
  }
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
