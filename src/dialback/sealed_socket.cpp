#include "dialback/sealed_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sys/io.h"

namespace dlaunch::dialback {
namespace {

// An `alive` record follows 3/2 intervals after the last record: later than a heartbeat of the link, and twice before
// the peer is lost (three intervals).
constexpr int kBeatPart = 3;
constexpr int kBeatWhole = 2;

}  // namespace

SealedSocket::SealedSocket(sys::Fd socket, const SessionKeys& keys)
    : socket_(std::move(socket)), sealer_(keys.send), opener_(keys.receive) {
  sys::set_nonblocking(socket_.get());
}

void SealedSocket::end(std::string why) {
  if (!over_) why_ = std::move(why);
  over_ = true;
  out_.clear();
}

void SealedSocket::send(SealedRecord::Kind kind, std::string_view payload, bool last) {
  if (over_ || last_sent_) return;
  sealer_.seal(kind, payload, out_, last);
  last_sent_ = last;
  sent(Clock::now());
}

void SealedSocket::begin_heartbeats(std::chrono::milliseconds interval, std::chrono::milliseconds pause) {
  heard_.emplace(interval, Clock::now(), pause);
  // A peer that is only stopped still acknowledges `alive` records.
  if (pause.count() > 0) limit_acknowledgement(interval * link::Heartbeat::kMisses);
  sent(Clock::now());
}

void SealedSocket::limit_acknowledgement(std::chrono::milliseconds limit) const {
  const int milliseconds = static_cast<int>(limit.count());
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

void SealedSocket::sent(Time now) {
  if (heard_) next_beat_ = now + kBeatPart * heard_->interval() / kBeatWhole;
}

void SealedSocket::flush() {
  while (!over_ && !out_.empty()) {
    const ssize_t sent = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      out_.erase(0, static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      end(std::strerror(errno));
    }
  }
}

void SealedSocket::receive() {
  std::array<char, 64u << 10> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (got > 0) {
    opener_.feed({buffer.data(), static_cast<size_t>(got)});
    if (heard_) heard_->heard(Clock::now());
  } else if (got == 0) {
    end("closed by the other side");
  } else if (errno != EAGAIN && errno != EINTR) {
    end(std::strerror(errno));
  }
}

std::optional<SealedRecord> SealedSocket::next() {
  if (over_ && why_.starts_with("invalid record")) return std::nullopt;
  auto record = opener_.next();
  if (record) return *std::move(record);
  end("invalid record: " + record.error().why);
  return std::nullopt;
}

void SealedSocket::beat(Time now) {
  if (now < next_beat_) return;
  // A queued record also serves as a heartbeat after it is sent.
  if (out_.empty()) send(SealedRecord::Kind::alive);
  sent(now);
}

void SealedSocket::finish_sending() { ::shutdown(socket_.get(), SHUT_WR); }

/// Unread bytes from the peer would make the kernel discard the bytes we sent: read them to the end.
void send_last_records(std::vector<SealedSocket*> sockets, Time deadline) {
  std::vector<bool> finished(sockets.size());
  for (;;) {
    std::vector<pollfd> polled;
    for (size_t i = 0; i < sockets.size(); ++i) {
      SealedSocket& socket = *sockets[i];
      socket.flush();
      if (!socket.over() && socket.waiting() == 0 && !finished[i]) {
        socket.finish_sending();
        finished[i] = true;
      }
      const auto events = static_cast<short>(POLLIN | (socket.waiting() > 0 ? POLLOUT : 0));
      if (!socket.over()) polled.push_back({socket.fd().get(), events, 0});
    }
    const int left = milliseconds_until(deadline);
    if (polled.empty() || left == 0) return;
    ::poll(polled.data(), polled.size(), left);
    for (SealedSocket* socket : sockets) {
      if (!socket->over()) socket->receive();
      while (socket->next()) {
      }
    }
  }
}

}  // namespace dlaunch::dialback
