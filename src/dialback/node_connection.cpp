#include "dialback/node_connection.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tuple>
#include <utility>

namespace dlaunch::dialback {

NodeConnection::NodeConnection() {
  std::tie(stream_, local_) = sys::make_socketpair();
  copy_.reset(::fcntl(local_.get(), F_DUPFD_CLOEXEC, 3));
  errors_ = sys::make_pipe();
  if (errors_.write) sys::set_nonblocking(errors_.write.get());
}

transport::Connection NodeConnection::connection(const std::shared_ptr<NodeConnection>& connection) {
  return {.stream = std::move(connection->stream_),
          .errors = std::move(connection->errors_.read),
          .disconnect = [connection] { return connection->reason(); },
          .passed_on_by = [connection](Time deadline) { return connection->passed_on_by(deadline); }};
}

/// A copy of the descriptor is open, but the launcher must see the end of the stream.
void NodeConnection::close_thread_end() {
  ::shutdown(local_.get(), SHUT_RDWR);
  local_.reset();
}

void NodeConnection::set_reason(transport::Disconnect why) {
  const std::lock_guard lock(mutex_);
  if (disconnect_.what.empty() && !disconnect_.nothing_left) disconnect_ = std::move(why);
}

transport::Disconnect NodeConnection::reason() const {
  const std::lock_guard lock(mutex_);
  return disconnect_;
}

void NodeConnection::add_error_text(std::string_view bytes) const {
  [[maybe_unused]] const ssize_t taken = ::write(errors_.write.get(), bytes.data(), bytes.size());
}

void NodeConnection::expect_reason(bool expected) {
  const std::lock_guard lock(mutex_);
  expects_reason_ = expected;
}

void NodeConnection::end_soon() {
  const std::lock_guard lock(mutex_);
  expects_reason_ = false;
  ends_soon_ = true;
}

bool NodeConnection::expects_reason() const {
  const std::lock_guard lock(mutex_);
  return expects_reason_;
}

bool NodeConnection::is_ending() const {
  const std::lock_guard lock(mutex_);
  return ends_soon_;
}

bool NodeConnection::passed_on_by(Time deadline) {
  std::unique_lock lock(mutex_);
  return idle_.wait(lock, deadline, [this] {
    int unread = 0;
    return idle_.now() && ::ioctl(copy_.get(), FIONREAD, &unread) == 0 && unread == 0;
  });
}

}  // namespace dlaunch::dialback
