#include "launcher/stacks_server.h"

#include <asio/buffer.hpp>
#include <asio/read_until.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>
#include <utility>

#include "sys/job_socket.h"

namespace dlaunch::launcher {
namespace {

constexpr std::size_t kLongestQuestion = 64;

}  // namespace

struct StacksServer::Caller {
  explicit Caller(asio::io_context& io) : socket(io), timer(io) {}
  asio::posix::stream_descriptor socket;
  asio::steady_timer timer;
  std::string text;  // the question, then the answer
};

StacksServer::StacksServer(asio::io_context& io, Asked asked) : io_(io), listener_(io), asked_(std::move(asked)) {}

StacksServer::~StacksServer() {
  there_.reset();
  if (current_) end(*current_);
}

template <class Handler>
auto StacksServer::while_there(Handler handler) {
  return [there = std::weak_ptr(there_), handler = std::move(handler)](auto&&... args) {
    if (!there.expired()) handler(std::forward<decltype(args)>(args)...);
  };
}

void StacksServer::open(const std::string& job_id) {
  sys::Fd fd = sys::listen_for_questions(job_id);
  if (!fd) return;
  listener_.assign(fd.release());
  wait_caller();
}

void StacksServer::wait_caller() {
  listener_.async_wait(asio::posix::stream_descriptor::wait_read, while_there([this](asio::error_code error) {
                         if (!error) let_in();
                       }));
}

/// Others wait in the backlog until this one's turn is over.
void StacksServer::let_in() {
  sys::Fd fd = sys::accept_question(listener_.native_handle());
  if (!fd) return wait_caller();
  current_ = std::make_shared<Caller>(io_);
  current_->socket.assign(fd.release());
  limit(current_);
  hear(current_);
}

void StacksServer::limit(const std::shared_ptr<Caller>& caller) {
  caller->timer.expires_after(kPatience);
  caller->timer.async_wait(while_there([this, caller](asio::error_code error) {
    if (!error) end(*caller);
  }));
}

void StacksServer::hear(const std::shared_ptr<Caller>& caller) {
  asio::async_read_until(caller->socket, asio::dynamic_buffer(caller->text, kLongestQuestion), '\n',
                         while_there([this, caller](asio::error_code error, std::size_t) {
                           if (error) return end(*caller);
                           caller->timer.cancel();  // looking at the ranks has limits of its own
                           asked_(std::exchange(caller->text, {}) == sys::kWholeQuestion,
                                  while_there([this, caller](std::string text) { answer(caller, std::move(text)); }));
                         }));
}

void StacksServer::answer(const std::shared_ptr<Caller>& caller, std::string text) {
  caller->text = std::move(text);
  limit(caller);
  asio::async_write(caller->socket, asio::buffer(caller->text),
                    while_there([this, caller](asio::error_code, std::size_t) { end(*caller); }));
}

/// Ends the turn of a caller, whose operations end with an error.
void StacksServer::end(Caller& caller) {
  asio::error_code ignored;
  caller.socket.close(ignored);
  caller.timer.cancel();
  if (current_.get() != &caller) return;
  current_.reset();
  if (there_) wait_caller();
}

}  // namespace dlaunch::launcher
