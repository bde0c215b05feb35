// Clients knock at a socket that the agent opened before there was a server. Each connection is carried to libpmix's
// own port, once its greeting is there as a whole and has the name of the job, which no other user knows: a stranger
// never gets through, and nobody makes libpmix wait, which then hears no other client. Owned by main; the loop must
// outlive it.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "sys/fd.h"

namespace dlaunch::pmix {

class Shuttle {
 public:
  /// `listener`: bound and listening. `port`: libpmix's. `space`: the job's name.
  Shuttle(asio::io_context& io, sys::Fd listener, std::uint16_t port, std::string space);
  ~Shuttle();

 private:
  struct Guest;       // has not said the name yet
  struct Connection;  // a client and its way to libpmix

  void wait();
  void admit(sys::Fd socket);
  void listen_to(const std::shared_ptr<Guest>& guest);
  void carry(Guest& guest);

  asio::io_context& io_;
  asio::posix::stream_descriptor listener_;
  const std::uint16_t port_;
  const std::string space_;
  std::list<std::weak_ptr<Guest>> guests_;
};

}  // namespace dlaunch::pmix
