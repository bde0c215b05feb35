#include "pmix/bridge/connection_proxy.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <utility>

#include "pmix/greeting.h"

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
