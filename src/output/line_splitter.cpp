#include "output/line_splitter.h"

#include <cstring>

namespace dlaunch::output {

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

}  // namespace dlaunch::output
