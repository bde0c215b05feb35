// Hears `dlaunch stacks JOB`: a unix socket with an abstract name (sys/job_socket.h), which leaves nothing in the file
// system and is closed to other users. A question is one line; the answer is text, to the end of the stream. One
// question at a time, each bounded in time; a caller that says nothing, or reads nothing, harms nobody. Owned by the
// launcher.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace dlaunch::launcher {

class StacksServer {
 public:
  static constexpr std::chrono::seconds kPatience{5};  ///< for a caller to ask, and again to take the answer

  using Answer = std::function<void(std::string text)>;
  using Asked = std::function<void(bool whole, Answer answer)>;

  /// `asked` calls `answer` later, once.
  StacksServer(asio::io_context& io, Asked asked);
  ~StacksServer();
  StacksServer(const StacksServer&) = delete;
  StacksServer& operator=(const StacksServer&) = delete;

  /// Where the socket cannot be made, nobody is heard.
  void open(const std::string& job_id);
  bool is_open() const { return listener_.is_open(); }

 private:
  struct Caller;
  /// A handler that does nothing once this object is gone.
  template <class Handler>
  auto while_there(Handler handler);
  void wait_caller();
  void let_in();
  void limit(const std::shared_ptr<Caller>& caller);
  void hear(const std::shared_ptr<Caller>& caller);
  void answer(const std::shared_ptr<Caller>& caller, std::string text);
  void end(Caller& caller);

  asio::io_context& io_;
  asio::posix::stream_descriptor listener_;
  Asked asked_;
  std::shared_ptr<Caller> current_;
  std::shared_ptr<bool> there_ = std::make_shared<bool>();
};

}  // namespace dlaunch::launcher
