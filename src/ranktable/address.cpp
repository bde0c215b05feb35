#include "ranktable/address.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text.h"

namespace dlaunch::ranktable {
namespace {

std::optional<Address> parse_v4(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() != 4) return std::nullopt;
  Address address;
  for (size_t i = 0; i < 4; ++i) {
    const std::string& part = parts[i];
    const auto byte = part.size() > 1 && part.front() == '0' ? std::nullopt : parse_int(part, 0, 255);
    if (!byte || part.size() > 3) return std::nullopt;
    address.bytes[i] = static_cast<unsigned char>(*byte);
  }
  return address;
}

using Groups = std::vector<unsigned char>;

/// "fd00:1" or "ffff:10.0.0.1" as bytes; nothing for "".
std::optional<Groups> parse_groups(std::string_view text, bool may_end_in_v4) {
  Groups bytes;
  if (text.empty()) return bytes;
  const auto parts = split(text, ':');
  for (const std::string& part : parts) {
    if (may_end_in_v4 && &part == &parts.back() && part.find('.') != std::string::npos) {
      const auto tail = parse_v4(part);
      if (!tail) return std::nullopt;
      bytes.insert(bytes.end(), tail->bytes.begin(), tail->bytes.begin() + 4);
      continue;
    }
    unsigned group = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), group, 16);
    if (part.empty() || part.size() > 4 || error != std::errc() || end != part.data() + part.size())
      return std::nullopt;
    bytes.push_back(static_cast<unsigned char>(group >> 8U));
    bytes.push_back(static_cast<unsigned char>(group & 0xffU));
  }
  return bytes;
}

std::optional<Address> parse_v6(std::string_view text) {
  const size_t gap = text.find("::");
  const bool shortened = gap != std::string_view::npos;
  const auto head = parse_groups(text.substr(0, gap), !shortened);
  const auto tail = parse_groups(shortened ? text.substr(gap + 2) : "", true);
  if (!head || !tail) return std::nullopt;
  const size_t said = head->size() + tail->size();
  if (shortened ? said > 14 : said != 16) return std::nullopt;
  Address address{.v6 = true};
  std::copy(head->begin(), head->end(), address.bytes.begin());
  std::copy_backward(tail->begin(), tail->end(), address.bytes.end());
  return address;
}

}  // namespace

bool Address::loopback() const {
  if (!v6) return bytes[0] == 127;
  return bytes.back() == 1 && std::all_of(bytes.begin(), bytes.end() - 1, [](unsigned char b) { return b == 0; });
}

bool Address::unspecified() const {
  return std::all_of(bytes.begin(), bytes.end(), [](unsigned char b) { return b == 0; });
}

std::optional<Address> parse_address(std::string_view text) {
  return text.find(':') == std::string_view::npos ? parse_v4(text) : parse_v6(text);
}

}  // namespace dlaunch::ranktable
