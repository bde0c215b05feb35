#include "hangs/stacks_server.h"

#include <asio/buffer.hpp>
#include <asio/read_until.hpp>
#include <asio/write.hpp>
#include <cerrno>
#include <optional>
#include <utility>

#include "sys/job_socket.h"

namespace dlaunch::hangs {
namespace {

constexpr std::size_t kLongestQuestion = 64;
constexpr int kAcceptsPerWake = 32;  // a flood of clients must not delay other handlers of the loop
constexpr std::chrono::milliseconds kRetryAccept{100};

}  // namespace

struct StacksServer::Client {
  explicit Client(asio::io_context& io) : socket(io), timer(io) {}
  asio::posix::stream_descriptor socket;
  asio::steady_timer timer;
  std::string text;  // the request, then the answer
};

StacksServer::StacksServer(asio::io_context& io, Asked asked)
    : io_(io), listener_(io), retry_(io), asked_(std::move(asked)) {}

StacksServer::~StacksServer() {
  if (const auto last = std::exchange(current_, {})) close(*last);
}

void StacksServer::open(const std::string& job_id) {
  sys::Fd fd = sys::listen_for_questions(job_id);
  if (!fd) return;
  listener_.assign(fd.release());
  wait_client();
}

void StacksServer::wait_client() {
  listener_.async_wait(asio::posix::stream_descriptor::wait_read, lifetime_.guard([this](asio::error_code error) {
    if (!error) accept_clients();
  }));
}

void StacksServer::accept_clients() {
  bool refused = false;
  for (int accepted = 0; accepted < kAcceptsPerWake; ++accepted) {
    std::optional<sys::AcceptedClient> caller = sys::accept_caller(listener_.native_handle());
    refused = !caller && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
    if (!caller) break;
    if (caller->permitted && waiting_.size() < kWaitingClients) waiting_.push_back(std::move(caller->socket));
  }
  if (!current_) serve_next();
  if (!refused) return wait_client();
  retry_.expires_after(kRetryAccept);  // no descriptor is free, and the listener stays readable
  retry_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (!error) wait_client();
  }));
}

void StacksServer::serve_next() {
  if (waiting_.empty()) return;
  current_ = std::make_shared<Client>(io_);
  current_->socket.assign(waiting_.front().release());
  waiting_.pop_front();
  limit(current_);
  read_request(current_);
}

void StacksServer::limit(const std::shared_ptr<Client>& client) {
  client->timer.expires_after(kPatience);
  client->timer.async_wait(lifetime_.guard([this, client](asio::error_code error) {
    if (!error) end(*client);
  }));
}

void StacksServer::read_request(const std::shared_ptr<Client>& client) {
  asio::async_read_until(client->socket, asio::dynamic_buffer(client->text, kLongestQuestion), '\n',
                         lifetime_.guard([this, client](asio::error_code error, std::size_t) {
                           if (error) return end(*client);
                           client->timer.cancel();  // samples of the ranks have their own time limits
                           asked_(
                               std::exchange(client->text, {}) == sys::kWholeQuestion,
                               lifetime_.guard([this, client](std::string text) { answer(client, std::move(text)); }));
                         }));
}

void StacksServer::answer(const std::shared_ptr<Client>& client, std::string text) {
  client->text = std::move(text);
  limit(client);
  asio::async_write(client->socket, asio::buffer(client->text),
                    lifetime_.guard([this, client](asio::error_code, std::size_t) { end(*client); }));
}

/// Pending operations of the client end with an error.
void StacksServer::close(Client& client) {
  asio::error_code ignored;
  client.socket.close(ignored);
  client.timer.cancel();
}

/// Ends a client's turn.
void StacksServer::end(Client& client) {
  close(client);
  if (current_.get() != &client) return;
  current_.reset();
  serve_next();
}

}  // namespace dlaunch::hangs
