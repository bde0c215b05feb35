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

/// Whether other bytes overwrite the record on a terminal: the record ends with '\r', and text follows. Terminals make
/// "\r\r\n" from "\r\n".
bool is_overwritten(std::string_view record, std::string_view after) {
  if (record.back() != '\r') return false;
  const std::size_t next = after.find_first_not_of('\r');
  return next != after.npos && after[next] != '\n';
}

/// `bytes` without overwritten records, as of progress bars.
std::string without_overwritten(std::string_view bytes) {
  std::string kept;
  Records records(bytes);
  for (std::string_view record = records.next(); !record.empty(); record = records.next()) {
    if (!is_overwritten(record, records.rest())) kept += record;
  }
  return kept += records.rest();
}

bool has_redraws(std::string_view bytes) { return bytes.find('\r') != bytes.npos; }

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
  constexpr std::size_t kExamined = 8;  // limits of a large read: few, for speed
  if (bytes_.size() + bytes.size() > 2 * limit_) {
    const std::string_view end = bytes.substr(bytes.size() - std::min(bytes.size(), kExamined * limit_));
    const bool is_cut = end.size() != bytes.size();
    whole_ = whole_ && !is_cut;
    bytes = end;
    if (has_redraws(bytes_)) bytes_ = without_overwritten(bytes_);
    if (is_cut && !bytes_.empty()) bytes_ += '\n';  // the line before is not the start of the next line
    if (has_redraws(bytes)) return add_end(without_overwritten(bytes));
  }
  add_end(bytes);
}

void Tail::add_end(std::string_view bytes) {
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
