#include "chaos/run/links.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>

#include "sys/io.h"

namespace dlaunch::chaos {
namespace {

constexpr int kBacklog = 256;

void send_word(const sys::Fd& control, const std::string& word) {
  ::send(control.get(), word.data(), word.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

Links::Links(const std::string& path) : listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!listener_ || path.size() >= sizeof address.sun_path) sys::throw_errno("socket");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const auto* const to = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(listener_.get(), to, sizeof address) != 0 || ::listen(listener_.get(), kBacklog) != 0) {
    sys::throw_errno("bind");
  }
}

std::vector<int> Links::fds() const {
  std::vector<int> fds = {listener_.get()};
  for (const Proxy& proxy : proxies_) fds.push_back(proxy.control.get());
  return fds;
}

void Links::ready(int fd) {
  if (fd == listener_.get()) return accept();
  const auto proxy = std::ranges::find(proxies_, fd, [](const Proxy& each) { return each.control.get(); });
  if (proxy == proxies_.end()) return;
  hear(*proxy);
  if (!proxy->control) proxies_.erase(proxy);
}

void Links::accept() {
  sys::Fd control(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (control) proxies_.push_back({.control = std::move(control), .host = {}});
}

void Links::hear(Proxy& proxy) {
  char said[512];
  const ssize_t size = ::recv(proxy.control.get(), said, sizeof said, MSG_DONTWAIT);
  if (size <= 0) return proxy.control.reset();
  std::istringstream words(std::string(said, static_cast<size_t>(size)));
  words >> proxy.command >> proxy.host;
  const auto word = words_.find(proxy.host);
  send_word(proxy.control, word == words_.end() ? "pass" : word->second);
}

std::vector<std::string> Links::hosts() const {
  std::set<std::string> hosts;
  for (const Proxy& proxy : proxies_) {
    if (!proxy.host.empty()) hosts.insert(proxy.host);
  }
  return {hosts.begin(), hosts.end()};
}

std::vector<int> Links::commands(const std::string& host) const {
  std::vector<int> commands;
  for (const Proxy& proxy : proxies_) {
    if (proxy.host == host) commands.insert(commands.begin(), proxy.command);
  }
  return commands;
}

void Links::tell(const std::string& host, const std::string& word) {
  words_[host] = word;
  for (const Proxy& proxy : proxies_) {
    if (proxy.host == host) send_word(proxy.control, word);
  }
}

bool Links::close(const std::string& host) {
  bool any = false;
  for (const Proxy& proxy : proxies_) {
    if (proxy.host != host) continue;
    send_word(proxy.control, "close");
    any = true;
  }
  return any;
}

}  // namespace dlaunch::chaos
