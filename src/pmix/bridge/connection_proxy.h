// Clients connect to a socket that the agent opened before there was a server. Each connection is carried to libpmix's
// own port once its greeting is complete, names a world of the job (a name that no other user knows), and libpmix knows
// that world. So no stranger gets through, and nobody makes libpmix wait, which would then hear no other client. That
// port admits no other connection (accept_filter.h). Owned by main; the loop must outlive it.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pmix/bridge/accept_filter.h"
#include "sys/fd.h"

namespace dlaunch::pmix {

class ConnectionProxy {
 public:
  /// Whether clients of the world of that name may connect.
  using Knows = std::function<bool(std::string_view space)>;
  /// `listener` is bound and listening. `port` is libpmix's. The names of the job's worlds begin with `space`.
  ConnectionProxy(asio::io_context& io, sys::Fd listener, std::uint16_t port, std::string space, Knows knows);
  ~ConnectionProxy();

  /// Another world is known: clients that wait for it are carried on.
  void retry_pending();

 private:
  struct PendingClient;  // has not sent the name yet
  struct Connection;     // a client and its connection to libpmix

  void wait();
  void admit(sys::Fd socket);
  void listen_to(const std::shared_ptr<PendingClient>& client);
  void hear(const std::shared_ptr<PendingClient>& client);
  void carry(PendingClient& client);

  asio::io_context& io_;
  asio::posix::stream_descriptor listener_;
  const std::uint16_t port_;
  const std::string space_;
  const Knows knows_;
  AcceptFilter gate_;
  std::list<std::weak_ptr<PendingClient>> clients_;
  std::vector<std::shared_ptr<PendingClient>> early_;  // of a world that is not known yet
};

}  // namespace dlaunch::pmix
