#include "dialback/carrier.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "sys/io.h"

namespace dlaunch::dialback {
namespace {

constexpr size_t kHighWater = 256u << 10;  // bytes waiting for the local side

}  // namespace

Carrier::Carrier(SealedSocket socket, std::function<void(const SealedRecord&)> on_record)
    : socket_(std::move(socket)), on_record_(std::move(on_record)) {}

void Carrier::attach(sys::Fd local) {
  local_ = std::move(local);
  sys::set_nonblocking(local_.get());
}

void Carrier::detach() {
  // Another copy of the descriptor may be open in this process, but the other end must see the end of the stream.
  if (local_) ::shutdown(local_.get(), SHUT_RDWR);
  local_.reset();
  to_local_.clear();
  local_ended_ = true;
}

/// An entry without events gets the descriptor -1: otherwise poll() would report a hang-up forever.
void Carrier::watch(std::vector<pollfd>& polled) const {
  short remote = to_local_.size() < kHighWater ? POLLIN : 0;
  if (socket_.waiting() > 0) remote |= POLLOUT;
  short local = !local_ended_ && socket_.waiting() < kMostRecord ? POLLIN : 0;
  if (!to_local_.empty()) local |= POLLOUT;
  polled.push_back({remote != 0 && !socket_.over() ? socket_.fd().get() : -1, remote, 0});
  polled.push_back({local != 0 && local_ ? local_.get() : -1, local, 0});
}

void Carrier::turn(const pollfd* polled) {
  constexpr short kReadable = POLLIN | POLLHUP | POLLERR;
  if ((polled[0].revents & kReadable) != 0) socket_.receive();
  do {
    take_records();
    write_local();
  } while (more_ && to_local_.empty());
  if ((polled[1].revents & kReadable) != 0 && !local_ended_) read_local();
  socket_.flush();
}

bool Carrier::local_hung_up() const {
  if (local_ended_ || !local_) return true;
  pollfd local{local_.get(), 0, 0};
  return ::poll(&local, 1, 0) > 0 && (local.revents & (POLLHUP | POLLERR)) != 0;
}

void Carrier::take_records() {
  for (more_ = true; to_local_.size() < kHighWater;) {
    const auto record = socket_.next();
    more_ = record.has_value();
    if (!record) return;
    on_record_(*record);
    if (record->kind == SealedRecord::Kind::data && local_) to_local_ += record->payload;
    if (record->kind == SealedRecord::Kind::data_end) data_ended_ = true;
  }
}

void Carrier::write_local() {
  while (local_ && !to_local_.empty()) {
    const ssize_t sent = ::send(local_.get(), to_local_.data(), to_local_.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      to_local_.erase(0, static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      to_local_.clear();  // the reader is gone; read_local() detects the end
    }
  }
  if (local_ && std::exchange(data_ended_, false)) ::shutdown(local_.get(), SHUT_WR);
}

void Carrier::read_local() {
  std::array<char, kMostRecord> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv() fills it
  const ssize_t got = ::recv(local_.get(), buffer.data(), buffer.size(), 0);
  if (got > 0) return socket_.send(SealedRecord::Kind::data, {buffer.data(), static_cast<size_t>(got)});
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  local_ended_ = true;
}

}  // namespace dlaunch::dialback
