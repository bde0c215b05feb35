// Forwards connections of clients to libpmix. Clients connect to a socket that the agent opened before the server
// started. The proxy forwards a connection to libpmix's port after its greeting is complete and names a world of the
// job (a name that other users do not know) that libpmix knows. So a stranger is never forwarded, and a slow peer does
// not make libpmix wait, which would block other clients. The port of libpmix admits no other connection
// (AcceptFilter). Owned by main; the loop must outlive the proxy.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sys/fd.h"

namespace dlaunch::pmix {

// Lets libpmix accept only connections of the ConnectionProxy. libpmix listens on a port of 127.0.0.1, which every user
// of the machine can reach, and waits for the whole greeting of each peer. Therefore this program replaces accept(2)
// (connection_proxy.cpp; the linker finds it before the function of the C library): the new function closes the
// connection of any other peer, and returns an ended connection to libpmix. Owned by the ConnectionProxy; one object at
// a time. libpmix calls the function from its own thread.

class AcceptFilter {
 public:
  AcceptFilter();
  ~AcceptFilter();
  AcceptFilter(const AcceptFilter&) = delete;
  AcceptFilter& operator=(const AcceptFilter&) = delete;

  /// Makes an admitted connection to that port of 127.0.0.1. Empty with errno set.
  sys::Fd dial(std::uint16_t port);
  /// Whether libpmix accepts connections on the port. libpmix ignores a failure to start the thread that accepts
  /// connections. admit() closes the tested connection.
  static bool serves(std::uint16_t port, std::chrono::milliseconds longest);
  /// Returns the descriptor that libpmix gets for an accepted connection.
  static int admit(int accepted);

 private:
  bool is_expected(std::uint16_t port);

  std::mutex mutex_;
  std::set<std::uint16_t> expected_;  // source ports of connections that are not accepted yet
};

class ConnectionProxy {
 public:
  /// Returns true if clients of the world of that name may connect.
  using Knows = std::function<bool(std::string_view space)>;
  /// `listener` is bound and listening. `port` belongs to libpmix. The names of the job's worlds begin with `space`.
  ConnectionProxy(asio::io_context& io, sys::Fd listener, std::uint16_t port, std::string space, Knows knows);
  ~ConnectionProxy();

  /// Another world is known: forwards the clients that wait for it.
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
  std::vector<std::shared_ptr<PendingClient>> early_;  // name of an unknown world
};

}  // namespace dlaunch::pmix
