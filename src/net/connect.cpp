#include "net/connect.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "base/try.h"

namespace dlaunch::net {

namespace {

constexpr std::chrono::milliseconds kHeadStart{250};
// Bytes: limits unsent data in the kernel, which would outlive this process on a slow network.
constexpr int kUnsent = 128 << 10;

void set(int fd, int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); }

std::string numeric(const addrinfo& address) {
  std::array<char, NI_MAXHOST> text{};
  ::getnameinfo(address.ai_addr, address.ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return text.data();
}

/// Parallel connection attempts of one connect_to() call.
class Race {
 public:
  Race(const addrinfo* first, Clock::time_point deadline, int ended)
      : next_(first), deadline_(deadline), ended_(ended) {}

  /// Returns 0, or the errno of the failure.
  int run(Connected& winner) {
    Clock::time_point next_start = Clock::now();
    while (Clock::now() < deadline_) {
      if (next_ && (attempts_.empty() || Clock::now() >= next_start)) {
        start(*std::exchange(next_, next_->ai_next));
        next_start = Clock::now() + kHeadStart;
        continue;
      }
      if (!next_ && attempts_.empty()) return error_;
      if (!wait(next_ ? std::min(next_start, deadline_) : deadline_)) return ECANCELED;
      if (take_winner(winner)) return 0;
    }
    return ETIMEDOUT;
  }

 private:
  struct Attempt {
    sys::Fd socket;
    const addrinfo* address;
  };

  void start(const addrinfo& address) {
    sys::Fd socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket || (::connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0 && errno != EINPROGRESS)) {
      error_ = errno;
      return;
    }
    attempts_.push_back({std::move(socket), &address});
  }

  /// Returns false if the job ends.
  bool wait(Clock::time_point until) {
    waits_.assign({pollfd{ended_, POLLIN, 0}});
    for (const Attempt& attempt : attempts_) waits_.push_back({attempt.socket.get(), POLLOUT, 0});
    ::poll(waits_.data(), waits_.size(), milliseconds_until(until));
    return waits_.front().revents == 0;
  }

  bool take_winner(Connected& winner) {
    for (size_t i = attempts_.size(); i-- > 0;) {
      if (waits_[i + 1].revents == 0) continue;
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(attempts_[i].socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error == 0) {
        winner = {std::move(attempts_[i].socket), numeric(*attempts_[i].address)};
        return true;
      }
      error_ = error;
      attempts_.erase(attempts_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return false;
  }

  const addrinfo* next_;
  const Clock::time_point deadline_;
  const int ended_;
  int error_ = ECONNREFUSED;
  std::vector<Attempt> attempts_;
  std::vector<pollfd> waits_;
};

void prepare(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, kUnsent);
}

std::string hint_for(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "check that sshd runs on the host and uses this port";
    case ETIMEDOUT:
      return "check that the host is up and the firewall lets packets through";
    default:
      return "check that the host is up";
  }
}

}  // namespace

tl::expected<Connected, Disconnect> connect_to(const Target& target, std::chrono::milliseconds limit, int ended) {
  auto addresses = TRY(resolve(target, Clock::now() + limit, ended));
  Connected connected;
  const int error = Race(addresses.get(), Clock::now() + limit, ended).run(connected);
  if (error == 0) {
    prepare(connected.socket.get());
    return connected;
  }
  return tl::unexpected(Disconnect{
      .what = "cannot connect to " + (target.renamed ? target.name + " " : "") + "port " + std::to_string(target.port),
      .why = std::strerror(error),
      .hint = hint_for(error),
      .retry = Disconnect::Retry::when_up});
}

namespace {

Disconnect failed(const Target& target, const std::string& why) {
  return {.what = "cannot resolve " + (target.renamed ? target.name : "the host name"),
          .why = why,
          .hint = "check the spelling, and run `getent hosts " + target.name + "`",
          .retry = Disconnect::Retry::when_up};
}

}  // namespace

tl::expected<sys::Addresses, Disconnect> resolve(const Target& target, std::chrono::steady_clock::time_point deadline,
                                                 int ended) {
  sys::Name name{.name = target.name, .port = target.port};
  name.family = target.family == AddressFamily::inet    ? AF_INET
                : target.family == AddressFamily::inet6 ? AF_INET6
                                                        : AF_UNSPEC;
  sys::LookedUp found = sys::look_up_numeric(name);
  if (found.error == EAI_NONAME) {
    name.flags = AI_ADDRCONFIG;
    sys::Lookup lookup(name);
    pollfd waits[] = {{lookup.answered().get(), POLLIN, 0}, {ended, POLLIN, 0}};
    if (!lookup.is_answered()) ::poll(waits, 2, milliseconds_until(deadline));
    if (!lookup.is_answered()) return tl::unexpected(failed(target, "timed out"));
    found = lookup.take();
  }
  if (found.error != 0) return tl::unexpected(failed(target, found.why));
  return std::move(found.addresses);
}

}  // namespace dlaunch::net
