#include "dialback/contact.h"

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"

namespace dlaunch::dialback {
namespace {

std::string mark_of(std::string_view nonce) { return "\n#dlaunch:" + std::string(nonce) + " call "; }

}  // namespace

std::string contact_line(const LauncherContact& contact, std::string_view nonce) {
  return mark_of(nonce) + to_string(contact.at) + ' ' + contact.key + '\n';
}

ContactReader::ContactReader(std::string_view nonce) : mark_(mark_of(nonce)) {}

std::optional<LauncherContact> ContactReader::feed(std::string_view bytes) {
  buffer_ += bytes;
  const size_t mark = buffer_.find(mark_);
  if (mark == std::string::npos) {
    if (buffer_.size() >= mark_.size()) buffer_.erase(0, buffer_.size() - (mark_.size() - 1));
    return std::nullopt;
  }
  buffer_.erase(0, mark);
  const size_t end = buffer_.find('\n', mark_.size());
  const std::string_view line = std::string_view(buffer_).substr(mark_.size(), end - mark_.size());
  broken_ = line.size() > kMostContact;
  if (end == std::string::npos || broken_) return std::nullopt;
  const size_t blank = line.find(' ');
  auto at = parse_endpoint(line.substr(0, blank));
  broken_ = !at || blank == std::string_view::npos;
  if (broken_) return std::nullopt;
  return LauncherContact{*std::move(at), std::string(line.substr(blank + 1))};
}

}  // namespace dlaunch::dialback
