// Clients knock at a socket that the agent opened before there was a server. Each connection is carried to libpmix's
// own port, once its greeting is there as a whole and has the name of a world of the job, which no other user knows,
// and libpmix knows that world: a stranger never gets through, and nobody makes libpmix wait, which then hears no other
// client. At that port nobody else comes in (gate.h). Owned by main; the loop must outlive it.
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

#include "pmix/bridge/gate.h"
#include "sys/fd.h"

namespace dlaunch::pmix {

class ConnectionProxy {
 public:
  /// Whether clients of the world of that name may come in.
  using Knows = std::function<bool(std::string_view space)>;
  /// `listener`: bound and listening. `port`: libpmix's. `space`: the job's name, with which those of its worlds begin.
  ConnectionProxy(asio::io_context& io, sys::Fd listener, std::uint16_t port, std::string space, Knows knows);
  ~ConnectionProxy();

  /// There is another world: who waits for it comes in.
  void retry_pending();

 private:
  struct PendingClient;  // has not said the name yet
  struct Connection;     // a client and its way to libpmix

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
  Gate gate_;
  std::list<std::weak_ptr<PendingClient>> clients_;
  std::vector<std::shared_ptr<PendingClient>> early_;  // of a world that is not known yet
};

}  // namespace dlaunch::pmix
