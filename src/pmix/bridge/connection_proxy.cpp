#include "pmix/bridge/connection_proxy.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>
#include <atomic>
#include <chrono>
#include <utility>

#include "base/time.h"
#include "pmix/environment.h"
#include "sys/io.h"

namespace dlaunch::pmix {
namespace {

std::atomic<AcceptFilter*> the_gate{nullptr};  // accept(2) has no other way to find the filter

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Returns false with errno set on failure.
bool connects_to(std::uint16_t port, const sys::Fd& socket) {
  const sockaddr_in server = loopback(port);
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&server), sizeof server) == 0;
}

/// A connection that the peer has closed. libpmix treats an error of accept(2) as the end of its port.
int ended_connection() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  ::close(ends[1]);
  return ends[0];
}

}  // namespace

AcceptFilter::AcceptFilter() { the_gate = this; }
AcceptFilter::~AcceptFilter() { the_gate = nullptr; }

/// Other processes cannot use the source port while the socket is bound to it.
sys::Fd AcceptFilter::dial(std::uint16_t port) {
  sys::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in own = loopback(0);
  socklen_t size = sizeof own;
  auto* where = reinterpret_cast<sockaddr*>(&own);
  if (!socket || ::bind(socket.get(), where, size) != 0 || ::getsockname(socket.get(), where, &size) != 0) return {};
  const std::uint16_t source = ntohs(own.sin_port);
  {
    const std::lock_guard lock(mutex_);
    expected_.insert(source);
  }
  if (!connects_to(port, socket)) {
    is_expected(source);  // the source port is not expected any more
    return {};
  }
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

bool AcceptFilter::serves(std::uint16_t port, std::chrono::milliseconds longest) {
  const sys::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || !connects_to(port, socket)) return false;
  pollfd closed{socket.get(), POLLIN, 0};
  char none = 0;
  return sys::poll_until({&closed, 1}, Clock::now() + longest) > 0 && ::read(socket.get(), &none, 1) == 0;
}

bool AcceptFilter::is_expected(std::uint16_t port) {
  const std::lock_guard lock(mutex_);
  return expected_.erase(port) > 0;
}

int AcceptFilter::admit(int accepted) {
  sockaddr_in peer{};
  socklen_t size = sizeof peer;
  if (accepted < 0 || ::getpeername(accepted, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return accepted;
  if (peer.sin_family != AF_INET) return accepted;
  AcceptFilter* gate = the_gate;
  if (gate && gate->is_expected(ntohs(peer.sin_port))) return accepted;
  ::close(accepted);
  return ended_connection();
}

}  // namespace dlaunch::pmix

extern "C" int accept(int listener, sockaddr* address, socklen_t* size) {
  return dlaunch::pmix::AcceptFilter::admit(static_cast<int>(::syscall(SYS_accept4, listener, address, size, 0)));
}

namespace dlaunch::pmix {
namespace {

constexpr size_t kMostPending = 256;  // above this limit, the oldest is closed
constexpr std::chrono::seconds kPatience{10};
constexpr size_t kBuffer = 64u << 10;

}  // namespace

struct ConnectionProxy::PendingClient {
  PendingClient(asio::io_context& io, sys::Fd fd) : socket(io, fd.release()), timer(io) {}
  void leave() {
    asio::error_code ignored;
    socket.close(ignored);
    timer.cancel();
  }
  asio::posix::stream_descriptor socket;
  asio::steady_timer timer;
  std::array<char, 4096> bytes{};
  std::string said;
};

/// Exists while one of its two directions waits.
struct ConnectionProxy::Connection : std::enable_shared_from_this<Connection> {
  struct Way {
    std::array<char, kBuffer> bytes{};
  };
  Connection(asio::posix::stream_descriptor client, asio::posix::stream_descriptor server)
      : ends{std::move(client), std::move(server)} {}

  void start(std::string said) {
    auto first = std::make_shared<std::string>(std::move(said));
    asio::async_write(
        ends[1], asio::buffer(*first),
        [self = shared_from_this(), first](asio::error_code error, size_t) { error ? self->close() : self->pump(0); });
    pump(1);
  }

  void pump(size_t from) {
    ends[from].async_read_some(asio::buffer(ways[from].bytes),
                               [self = shared_from_this(), from](asio::error_code error, size_t size) {
                                 error ? self->close() : self->pass(from, size);
                               });
  }

  void pass(size_t from, size_t size) {
    asio::async_write(ends[1 - from], asio::buffer(ways[from].bytes, size),
                      [self = shared_from_this(), from](asio::error_code error, size_t) {
                        error ? self->close() : self->pump(from);
                      });
  }

  void close() {
    asio::error_code ignored;
    for (auto& end : ends) end.close(ignored);
  }

  std::array<asio::posix::stream_descriptor, 2> ends;
  std::array<Way, 2> ways;
};

ConnectionProxy::ConnectionProxy(asio::io_context& io, sys::Fd listener, std::uint16_t port, std::string space,
                                 Knows knows)
    : io_(io), listener_(io, listener.release()), port_(port), space_(std::move(space)), knows_(std::move(knows)) {
  listener_.non_blocking(true);
  wait();
}

ConnectionProxy::~ConnectionProxy() = default;

void ConnectionProxy::wait() {
  listener_.async_wait(asio::posix::stream_descriptor::wait_read, [this](asio::error_code error) {
    if (error) return;
    for (;;) {
      sys::Fd socket(::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) break;
      admit(std::move(socket));
    }
    wait();
  });
}

void ConnectionProxy::admit(sys::Fd socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::erase_if(clients_, [](const auto& client) { return client.expired(); });
  if (clients_.size() >= kMostPending) {
    if (const auto oldest = clients_.front().lock()) oldest->leave();
    clients_.pop_front();
  }
  const auto client = std::make_shared<PendingClient>(io_, std::move(socket));
  clients_.push_back(client);
  client->timer.expires_after(kPatience);
  client->timer.async_wait([weak = std::weak_ptr(client)](asio::error_code error) {
    const auto late = weak.lock();
    if (!error && late) late->leave();
  });
  listen_to(client);
}

void ConnectionProxy::listen_to(const std::shared_ptr<PendingClient>& client) {
  client->socket.async_read_some(asio::buffer(client->bytes), [this, client](asio::error_code error, size_t size) {
    if (error) return client->leave();
    client->said.append(client->bytes.data(), size);
    hear(client);
  });
}

void ConnectionProxy::hear(const std::shared_ptr<PendingClient>& client) {
  const Greeting greeting = read_greeting(client->said, space_);
  if (greeting.is == Greeting::Is::nonsense) return client->leave();
  if (greeting.is == Greeting::Is::unfinished) return listen_to(client);
  if (knows_(greeting.world)) return carry(*client);
  std::erase_if(early_, [](const auto& other) { return !other->socket.is_open(); });
  early_.push_back(client);
}

void ConnectionProxy::retry_pending() {
  for (const auto& client : std::exchange(early_, {})) {
    if (client->socket.is_open()) hear(client);
  }
}

void ConnectionProxy::carry(PendingClient& client) {
  client.timer.cancel();
  sys::Fd server = gate_.dial(port_);
  if (!server) return client.leave();
  asio::posix::stream_descriptor end(io_, server.release());
  std::make_shared<Connection>(std::move(client.socket), std::move(end))->start(std::move(client.said));
}

}  // namespace dlaunch::pmix
