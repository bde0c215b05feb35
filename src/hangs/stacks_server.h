// Serves `dlaunch stacks JOB` on an abstract Unix socket (sys/job_socket.h), closed to other users and without an entry
// in the file system. A request is one line; the answer is text until the end of the stream. One client at a time;
// others wait in order. A client that does not send or read is dropped after kPatience. Clients of other users are
// dropped at once, also while a client is served: other users cannot block the owner's client. Owned by RankWatch.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/lifetime.h"
#include "sys/fd.h"

namespace dlaunch::hangs {

class StacksServer {
 public:
  static constexpr std::chrono::seconds kPatience{5};  ///< to send a request, and again to read the answer
  static constexpr std::size_t kWaitingClients = 16;   ///< the next client is dropped without an answer

  using Answer = std::function<void(std::string text)>;
  using Asked = std::function<void(bool whole, Answer answer)>;

  /// `asked` must call `answer` once, later.
  StacksServer(asio::io_context& io, Asked asked);
  ~StacksServer();
  StacksServer(const StacksServer&) = delete;
  StacksServer& operator=(const StacksServer&) = delete;

  /// If the socket cannot be created, is_open() stays false and requests are not served.
  void open(const std::string& job_id);
  bool is_open() const { return listener_.is_open(); }

 private:
  struct Client;
  void wait_client();
  void accept_clients();
  void serve_next();
  void limit(const std::shared_ptr<Client>& client);
  void read_request(const std::shared_ptr<Client>& client);
  void answer(const std::shared_ptr<Client>& client, std::string text);
  static void close(Client& client);
  void end(Client& client);

  asio::io_context& io_;
  asio::posix::stream_descriptor listener_;
  asio::steady_timer retry_;  ///< accept(2) failed: no descriptor is free
  Asked asked_;
  std::shared_ptr<Client> current_;
  std::deque<sys::Fd> waiting_;
  const Lifetime lifetime_;
};

}  // namespace dlaunch::hangs
