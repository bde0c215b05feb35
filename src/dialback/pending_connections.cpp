#include "dialback/pending_connections.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/text.h"
#include "dialback/introduction.h"

namespace dlaunch::dialback {
namespace {

constexpr int kAcceptedAtOnce = 32;                     // accepted before the open connections are read
constexpr size_t kNamedAddresses = 3;                   // addresses named in messages
constexpr std::chrono::milliseconds kNoDescriptor{50};  // pause if accept() has no descriptors

bool has_ended(int socket) {
  char next = 0;
  return ::recv(socket, &next, 1, MSG_PEEK) == 0;
}

}  // namespace

/// A connection before its proof of the key, or before its first record.
struct PendingConnections::Pending {
  Pending(sys::Fd its_socket, std::string its_address, const Secret& key)
      : socket(std::move(its_socket)), address(std::move(its_address)), handshake(key, random_for_handshake()) {}

  int fd() const { return proven ? proven->fd().get() : socket.get(); }

  sys::Fd socket;
  std::string address;
  Time since = Clock::now();
  HandshakeServer handshake;
  bool gave_up = false;                // the node closed the connection before it received the answer
  std::optional<SealedSocket> proven;  // set after the proof; owns the socket and awaits the statement
};

PendingConnections::PendingConnections(net::ListeningSocket listener, const Secret& key, OnFirstRecord on_first_record)
    : listener_(std::move(listener)), key_(key), on_first_record_(std::move(on_first_record)) {}

PendingConnections::~PendingConnections() = default;

void PendingConnections::watch(std::vector<pollfd>& polled) const {
  if (listener_.socket) polled.push_back({listener_.socket.get(), POLLIN, 0});
  for (const auto& connection : pending_) polled.push_back({connection->fd(), POLLIN, 0});
}

void PendingConnections::turn(const pollfd* polled, Time now) {
  const bool listener_ready = listener_.socket && polled->revents != 0;
  std::erase_if(pending_, [&](const std::unique_ptr<Pending>& connection) {
    if (!receive(*connection)) return true;
    if (now - connection->since < kHandshakeLimit) return false;
    count_rejected(*connection);
    return true;
  });
  if (listener_ready) accept_some();
}

void PendingConnections::close() {
  listener_.socket.reset();
  pending_.clear();
}

void PendingConnections::accept_some() {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    auto* address = reinterpret_cast<sockaddr*>(&from);
    sys::Fd socket(::accept4(listener_.socket.get(), address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const int error = socket ? 0 : errno;
    if (error == ECONNABORTED || error == EINTR) continue;
    if (!socket) {
      if (error != EAGAIN) {  // no descriptor or memory: closing a connection frees some
        make_room();
        ::poll(nullptr, 0, static_cast<int>(kNoDescriptor.count()));
      }
      return;
    }
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (pending_.size() >= kMostUnauthenticated) make_room();
    pending_.push_back(std::make_unique<Pending>(std::move(socket), net::numeric_address(address).value_or("?"), key_));
  }
}

/// Closes the oldest connection that has sent no bytes, else the oldest. A node would connect again.
void PendingConnections::make_room() {
  const auto silent = std::ranges::find_if(
      pending_, [](const auto& connection) { return !connection->proven && connection->handshake.silent(); });
  const auto gone = silent != pending_.end() ? silent : pending_.begin();
  if (gone == pending_.end()) return;
  count_rejected(**gone);
  pending_.erase(gone);
}

void PendingConnections::count_rejected(const Pending& connection) {
  if (connection.gave_up) return;
  (connection.handshake.answered() ? wrong_keys_ : not_dlaunch_) += 1;
  if (addresses_.size() < kNamedAddresses) addresses_.insert(connection.address);
}

bool PendingConnections::receive(Pending& connection) {
  if (!connection.proven && !receive_handshake(connection)) {
    count_rejected(connection);
    return false;
  }
  if (!connection.proven) return true;
  SealedSocket& socket = *connection.proven;
  socket.receive();
  const auto record = socket.next();
  if (!record) return !socket.over();
  socket.receive();
  if (!socket.over()) on_first_record_(socket, connection.address, *record);  // else the node tries again
  return false;
}

/// Returns false if the handshake failed: the peer does not have the job's key.
bool PendingConnections::receive_handshake(Pending& connection) {
  std::array<char, kHelloSize> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv() fills it
  for (;;) {
    const ssize_t got =
        ::recv(connection.fd(), buffer.data(), std::min(connection.handshake.wanted(), buffer.size()), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) return false;
    const HandshakeState progress = connection.handshake.feed({buffer.data(), static_cast<size_t>(got)});
    const std::string reply = connection.handshake.take_reply();
    connection.gave_up = !reply.empty() && has_ended(connection.fd());
    if (connection.gave_up) return false;
    const bool sent =
        ::send(connection.fd(), reply.data(), reply.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(reply.size());
    // A new connection always accepts these few bytes at once.
    if (progress == HandshakeState::refused || !sent) return false;
    if (progress == HandshakeState::proven) {
      connection.proven.emplace(std::move(connection.socket), connection.handshake.keys());
      return true;
    }
  }
}

std::string PendingConnections::rejected_text() const {
  std::string text;
  if (wrong_keys_ > 0) text = count(wrong_keys_, "connection") + " without the job's key";
  if (not_dlaunch_ > 0) text += (text.empty() ? "" : ", ") + count(not_dlaunch_, "connection") + " not from dlaunch";
  std::string from;
  for (const std::string& address : addresses_) from += (from.empty() ? " (from " : ", ") + address;
  return text.empty() ? text : text + from + ')';
}

}  // namespace dlaunch::dialback
