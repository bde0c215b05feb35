#include "dialback/contact.h"

#include <algorithm>

#include "base/ip_address.h"
#include "base/printable.h"
#include "base/text.h"

namespace dlaunch::dialback {
namespace {

std::string mark_of(std::string_view nonce) { return "\n#dlaunch:" + std::string(nonce) + " call "; }

bool is_host(std::string_view host) {
  const auto of_none = [](unsigned char c) { return c <= ' ' || c >= 127 || c == '[' || c == ']'; };
  if (host.empty() || host.front() == '-' || std::ranges::any_of(host, of_none)) return false;
  return host.find(':') == std::string_view::npos || is_ipv6(host);
}

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

Result<Endpoint> parse_endpoint(std::string_view text) {
  const auto refused = [&] {
    return fail({.where = "",
                 .what = "invalid endpoint \"" + escaped(text) + '"',
                 .why = "expected HOST:PORT or [ADDRESS]:PORT",
                 .hint = "use a name or address of node 0 known to all nodes"});
  };
  Endpoint endpoint;
  std::string_view port;
  const size_t colon = text.rfind(':');
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return refused();
    endpoint.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && !port.starts_with(':')) return refused();
  } else if (colon != std::string_view::npos && text.find(':') == colon) {
    endpoint.host = text.substr(0, colon);
    port = text.substr(colon);
  } else {
    endpoint.host = text;  // several colons: an IPv6 address
  }
  if (!is_host(endpoint.host)) return refused();
  if (port.empty()) return endpoint;
  const auto number = parse_int(port.substr(1), 1, kMostPort);
  if (!number) return refused();
  endpoint.port = static_cast<int>(*number);
  return endpoint;
}

std::string to_string(const Endpoint& endpoint) {
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  return (v6 ? '[' + endpoint.host + ']' : endpoint.host) + ':' + std::to_string(endpoint.port);
}

}  // namespace dlaunch::dialback
