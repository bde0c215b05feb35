#include "sys/tcp.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace dlaunch::sys {
namespace {

constexpr std::chrono::milliseconds kHeadStart{250};
// Bytes: limits unsent data in the kernel. On a slow network, the unsent data would outlive this process.
constexpr int kUnsent = 128 << 10;

void set(int fd, int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); }

void prepare(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, kUnsent);
}

/// Parallel connection attempts of one connect_tcp() call.
class Race {
 public:
  Race(const std::vector<SocketAddress>& addresses, Time deadline, int ended)
      : addresses_(addresses), deadline_(deadline), ended_(ended) {}

  tl::expected<TcpConnection, int> run() {
    Time next_start = Clock::now();
    while (Clock::now() < deadline_) {
      const bool more = next_ < addresses_.size();
      if (more && (attempts_.empty() || Clock::now() >= next_start)) {
        start(next_++);
        next_start = Clock::now() + kHeadStart;
        continue;
      }
      if (!more && attempts_.empty()) return tl::unexpected(error_);
      if (!wait(more ? std::min(next_start, deadline_) : deadline_)) return tl::unexpected(ECANCELED);
      if (auto winner = take_winner()) return *std::move(winner);
    }
    return tl::unexpected(ETIMEDOUT);
  }

 private:
  void start(size_t number) {
    const SocketAddress& address = addresses_[number];
    Fd socket(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket || (::connect(socket.get(), address.get(), address.size) != 0 && errno != EINPROGRESS)) {
      error_ = errno;
      return;
    }
    attempts_.push_back({std::move(socket), number});
  }

  /// Returns false if `ended_` is readable.
  bool wait(Time until) {
    waits_.assign({pollfd{ended_, POLLIN, 0}});
    for (const TcpConnection& attempt : attempts_) waits_.push_back({attempt.socket.get(), POLLOUT, 0});
    ::poll(waits_.data(), waits_.size(), milliseconds_until(until));
    return waits_.front().revents == 0;
  }

  std::optional<TcpConnection> take_winner() {
    for (size_t i = attempts_.size(); i-- > 0;) {
      if (waits_[i + 1].revents == 0) continue;
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(attempts_[i].socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error == 0) return std::move(attempts_[i]);
      error_ = error;
      attempts_.erase(attempts_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return std::nullopt;
  }

  const std::vector<SocketAddress>& addresses_;
  const Time deadline_;
  const int ended_;
  size_t next_ = 0;
  int error_ = EINVAL;
  std::vector<TcpConnection> attempts_;
  std::vector<pollfd> waits_;
};

}  // namespace

std::optional<SocketAddress> numeric_address(const std::string& host, int port) {
  SocketAddress address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.bytes);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.bytes);
  if (::inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<std::uint16_t>(port));
    address.size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<std::uint16_t>(port));
    address.size = sizeof *v6;
  } else {
    return std::nullopt;
  }
  return address;
}

tl::expected<TcpConnection, int> connect_tcp(const std::vector<SocketAddress>& addresses, Time deadline, int ended) {
  auto connection = Race(addresses, deadline, ended).run();
  if (connection) prepare(connection->socket.get());
  return connection;
}

}  // namespace dlaunch::sys
