#include "ascend/tables/address.h"

#include <algorithm>
#include <charconv>

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

/// Parses "fd00:1" or "ffff:10.0.0.1" into bytes; an empty text returns no bytes.
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
  const size_t count = head->size() + tail->size();
  if (shortened ? count > 14 : count != 16) return std::nullopt;
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

namespace {

/// Whether the interface belongs to a network inside this host, such as the docker bridge. HCCL skips docker's
/// interfaces, too.
bool is_inner(const std::string& interface) {
  return interface.starts_with("docker") || interface.starts_with("veth") || interface.starts_with("br-") ||
         interface.starts_with("virbr");
}

bool reaches_out(const std::string& text) {
  const auto address = parse_address(text);
  return address && !address->loopback() && !address->unspecified();
}

}  // namespace

std::vector<OwnAddress> parse_interfaces(const std::vector<std::string>& interfaces) {
  std::vector<OwnAddress> own;
  for (const std::string& text : interfaces) {
    const size_t blank = text.rfind(' ');
    if (blank != std::string::npos) own.push_back({text.substr(0, blank), text.substr(blank + 1)});
  }
  return own;
}

std::vector<OwnAddress> outer_addresses(const std::vector<OwnAddress>& own) {
  std::vector<OwnAddress> outer;
  std::ranges::copy_if(own, std::back_inserter(outer),
                       [](const OwnAddress& each) { return !is_inner(each.interface) && reaches_out(each.address); });
  std::ranges::stable_sort(outer, {}, [](const OwnAddress& each) { return parse_address(each.address)->v6; });
  return outer;
}

std::optional<std::string> server_id_of(const HostAddresses& host, bool alone) {
  if (reaches_out(host.name)) return host.name;
  std::vector<std::string> resolved = host.resolved;
  std::erase_if(resolved, [](const std::string& address) { return !reaches_out(address); });
  const auto has = [&](const std::string& address) {
    return std::ranges::find(host.own, address, &OwnAddress::address) != host.own.end();
  };
  if (const auto both = std::ranges::find_if(resolved, has); both != resolved.end()) return *both;
  if (!resolved.empty()) return resolved.front();
  if (const auto outer = outer_addresses(host.own); !outer.empty()) return outer.front().address;
  if (alone) return "127.0.0.1";
  return std::nullopt;
}

}  // namespace dlaunch::ranktable
