#include "transport/ssh/agent_proxy.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "sys/io.h"
#include "sys/thread.h"

namespace dlaunch::transport::ssh {
namespace {

using std::string;
using std::string_view;

constexpr int kAnswerMs = 5000;  // short enough to leave time for key files

/// Blocks. The watchdog shuts down a host's socket at its deadline.
bool read_all(int fd, char* into, size_t size) {
  while (size > 0) {
    const ssize_t got = ::recv(fd, into, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

std::optional<string> read_message(int fd) {
  string size(4, '\0');
  if (!read_all(fd, size.data(), size.size())) return std::nullopt;
  string_view rest = size;
  string message(unpack_number(rest).value_or(0), '\0');
  if (message.empty() || message.size() > kLargestMessage) return std::nullopt;
  if (!read_all(fd, message.data(), message.size())) return std::nullopt;
  return message;
}

}  // namespace

AgentProxy::AgentProxy(string path, std::shared_ptr<Watchdog> watchdog)
    : path_(std::move(path)), watchdog_(std::move(watchdog)) {}

std::vector<AgentKey> AgentProxy::keys() {
  const std::lock_guard lock(mutex_);
  if (!keys_) keys_ = parse_keys(ask(string_view(&kRequestIdentities, 1)).value_or(""));
  return *keys_;
}

string AgentProxy::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

sys::Fd AgentProxy::show(std::vector<AgentKey> keys) {
  auto [ours, hosts] = sys::make_socketpair();
  sys::Thread thread;
  const auto end = std::make_shared<sys::Fd>(std::move(ours));
  if (thread.start([self = shared_from_this(), end, shown = std::move(keys)] { self->serve(*end, shown); }) != 0) {
    return sys::Fd();
  }
  return std::move(hosts);
}

void AgentProxy::serve(const sys::Fd& host, const std::vector<AgentKey>& keys) {
  std::span<const AgentKey> shown = keys;
  while (const auto request = read_message(host.get())) {
    std::optional<string> answer;
    if (request->front() == kRequestIdentities) {
      answer = answer_with(shown);
    } else if (request->front() == kSignRequest) {
      const std::lock_guard lock(mutex_);
      answer = ask(with_signer(shown, *request));
      if (!answer || !answer->starts_with(kSignature)) shown = behind(shown, *request);
    }
    const string bytes = packed(answer.value_or(string(1, kFailure)));
    if (::send(host.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) return;
  }
}

/// Sends no further request after a failed request: otherwise each host would wait in turn for a silent agent.
std::optional<string> AgentProxy::ask(string_view request) {
  if (!trouble_.empty() || (!connection_ && !connect())) return std::nullopt;
  const Watchdog::Guard guard = watchdog_->watch(connection_.get());
  auto answer = exchange(request);
  if (!answer) {
    trouble_ = "does not answer";
    connection_.reset();
  }
  return answer;
}

std::optional<string> AgentProxy::exchange(string_view request) {
  if (!send(packed(request))) return std::nullopt;
  const auto size_bytes = receive(4);
  if (!size_bytes) return std::nullopt;
  string_view rest = *size_bytes;
  const std::uint32_t size = unpack_number(rest).value_or(0);
  if (size == 0 || size > kLargestMessage) return std::nullopt;
  return receive(size);
}

bool AgentProxy::connect() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) {
    trouble_ = "path too long for a socket: " + path_;
    return false;
  }
  path_.copy(address.sun_path, path_.size());
  connection_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(connection_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  trouble_ = "cannot connect to " + path_ + ": " + std::strerror(errno);
  connection_.reset();
  return false;
}

bool AgentProxy::wait(short events) const {
  pollfd waits{connection_.get(), events, 0};
  return ::poll(&waits, 1, kAnswerMs) > 0;
}

bool AgentProxy::send(string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t took = ::send(connection_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (took < 0 && (errno != EAGAIN || !wait(POLLOUT))) return false;
    if (took > 0) bytes.remove_prefix(static_cast<size_t>(took));
  }
  return true;
}

std::optional<string> AgentProxy::receive(size_t size) const {
  string bytes(size, '\0');
  for (size_t have = 0; have < size;) {
    const ssize_t got = ::recv(connection_.get(), bytes.data() + have, size - have, 0);
    if (got == 0 || (got < 0 && (errno != EAGAIN || !wait(POLLIN)))) return std::nullopt;
    if (got > 0) have += static_cast<size_t>(got);
  }
  return bytes;
}

}  // namespace dlaunch::transport::ssh
