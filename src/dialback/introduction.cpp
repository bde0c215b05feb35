#include "dialback/introduction.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sys/randomness.h"

namespace dlaunch::dialback {
namespace {

constexpr std::chrono::seconds kAnswerLimit{10};

tl::unexpected<AttemptFailure> attempt_failure(std::string what, std::string why = {}) {
  return tl::unexpected<AttemptFailure>({{"", std::move(what), std::move(why), "", kExitHostLost}, false});
}

tl::unexpected<AttemptFailure> timed_out(const std::string& awaited) {
  return attempt_failure("timed out after " + std::to_string(kAnswerLimit.count()) + " s waiting for " + awaited);
}

tl::unexpected<AttemptFailure> other_key() {
  return tl::unexpected<AttemptFailure>({{"", "node 0 has a different key", "", "give every node the same key"}, true});
}

bool send_text(const sys::Fd& socket, const std::string& text) {
  return ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

AttemptResult<SealedSocket> prove(sys::Fd socket, const Secret& key, int ended) {
  HandshakeClient handshake(key, random_for_handshake());
  const Time deadline = Clock::now() + kAnswerLimit;
  if (!send_text(socket, handshake.hello())) return attempt_failure("the connection closed");
  for (;;) {
    std::array<char, kAnswerSize> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv() fills it
    if (!readable(socket.get(), ended, deadline)) return timed_out("a reply of dlaunch");
    const ssize_t got = ::recv(socket.get(), buffer.data(), std::min(handshake.wanted(), buffer.size()), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return attempt_failure("the listening process closed the connection");
    const HandshakeState progress = handshake.feed({buffer.data(), static_cast<size_t>(got)});
    if (progress == HandshakeState::proven) {
      if (!send_text(socket, handshake.proof())) return attempt_failure("the connection closed");
      return SealedSocket(std::move(socket), handshake.keys());
    }
    if (progress == HandshakeState::refused && handshake.other_key()) return other_key();
    if (progress == HandshakeState::refused)
      return attempt_failure("unexpected reply: the listening process is not dlaunch");
  }
}

AttemptResult<Welcome> be_admitted(SealedSocket& socket, const Statement& self, int ended) {
  const Time deadline = Clock::now() + kAnswerLimit;
  socket.send(SealedRecord::Kind::statement, to_payload(self));
  for (socket.flush(); !socket.over(); socket.receive()) {
    while (const auto record = socket.next()) {
      if (record->kind == SealedRecord::Kind::welcome) {
        auto welcome = welcome_in(record->payload);
        if (welcome) return *std::move(welcome);
        return tl::unexpected<AttemptFailure>({std::move(welcome).error(), true});
      }
      if (record->kind == SealedRecord::Kind::refusal) {
        return tl::unexpected<AttemptFailure>({refusal_in(record->payload), true});
      }
    }
    if (!readable(socket.fd().get(), ended, deadline)) return timed_out("node 0");
  }
  return attempt_failure("node 0 closed the connection", socket.why());
}

}  // namespace

bool readable(int fd, int ended, Time deadline) {
  std::array<pollfd, 2> polled{{{fd, POLLIN, 0}, {ended, POLLIN, 0}}};
  ::poll(polled.data(), polled.size(), milliseconds_until(deadline));
  return polled[0].revents != 0 && polled[1].revents == 0;
}

AttemptResult<LauncherConnection> introduce(sys::Fd connected, const std::string& address, const Secret& key,
                                            const Statement& self, int ended) {
  auto socket = prove(std::move(connected), key, ended);
  if (!socket) return tl::unexpected(std::move(socket).error());
  auto welcome = be_admitted(*socket, self, ended);
  if (!welcome) return tl::unexpected(std::move(welcome).error());
  socket->begin_heartbeats(welcome->heartbeat, welcome->pause_limit);
  return LauncherConnection{*std::move(socket), address, std::move(welcome->job_id)};
}

HandshakeRandom random_for_handshake() {
  HandshakeRandom random;
  const std::string bytes = sys::random_bytes(random.nonce.size() + Secret::kSize);
  std::memcpy(random.nonce.data(), bytes.data(), random.nonce.size());
  std::memcpy(random.seed.data(), bytes.data() + random.nonce.size(), Secret::kSize);
  return random;
}

}  // namespace dlaunch::dialback
