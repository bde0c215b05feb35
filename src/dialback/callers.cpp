#include "dialback/callers.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "allocate/this_machine.h"
#include "base/text.h"
#include "dialback/fresh.h"

namespace dlaunch::dialback {
namespace {

constexpr int kAcceptedAtOnce = 32;                     // before those who are there are heard
constexpr size_t kNamedStrangers = 3;                   // addresses that a person is told
constexpr std::chrono::milliseconds kNoDescriptor{50};  // to wait where accept() has none to give

}  // namespace

/// Somebody who has connected and is not in.
struct Callers::Caller {
  Caller(sys::Fd its_socket, std::string its_address, const Secret& key)
      : socket(std::move(its_socket)), address(std::move(its_address)), handshake(key, make_fresh()) {}

  int fd() const { return proven ? proven->fd().get() : socket.get(); }

  sys::Fd socket;
  std::string address;
  Time since = Clock::now();
  HandshakeServer handshake;
  std::optional<SealedSocket> proven;  // it has the job's key, and the socket; its statement is awaited
};

Callers::Callers(Door door, const Secret& key, Said said) : door_(std::move(door)), key_(key), said_(std::move(said)) {}

Callers::~Callers() = default;

void Callers::watch(std::vector<pollfd>& polled) const {
  if (door_.socket) polled.push_back({door_.socket.get(), POLLIN, 0});
  for (const auto& caller : callers_) polled.push_back({caller->fd(), POLLIN, 0});
}

void Callers::turn(const pollfd* polled, Time now) {
  const bool knocked = door_.socket && polled->revents != 0;
  std::erase_if(callers_, [&](const std::unique_ptr<Caller>& caller) {
    if (!hear(*caller)) return true;
    if (now - caller->since < kHandshakeLimit) return false;
    note_stranger(*caller);
    return true;
  });
  if (knocked) accept_some();
}

void Callers::close() {
  door_.socket.reset();
  callers_.clear();
}

void Callers::accept_some() {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    auto* address = reinterpret_cast<sockaddr*>(&from);
    sys::Fd socket(::accept4(door_.socket.get(), address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const int error = socket ? 0 : errno;
    if (error == ECONNABORTED || error == EINTR) continue;
    if (!socket) {
      if (error != EAGAIN) {  // no descriptor or memory: strangers give some back
        make_room();
        ::poll(nullptr, 0, static_cast<int>(kNoDescriptor.count()));
      }
      return;
    }
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (callers_.size() >= kMostStrangers) make_room();
    callers_.push_back(
        std::make_unique<Caller>(std::move(socket), allocate::numeric_address(address).value_or("?"), key_));
  }
}

/// The oldest goes that has said nothing, else the oldest. Should it be a node, it connects again.
void Callers::make_room() {
  const auto silent =
      std::ranges::find_if(callers_, [](const auto& caller) { return !caller->proven && caller->handshake.silent(); });
  const auto gone = silent != callers_.end() ? silent : callers_.begin();
  if (gone == callers_.end()) return;
  note_stranger(**gone);
  callers_.erase(gone);
}

void Callers::note_stranger(const Caller& caller) {
  (caller.handshake.answered() ? wrong_keys_ : strangers_) += 1;
  if (addresses_.size() < kNamedStrangers) addresses_.insert(caller.address);
}

bool Callers::hear(Caller& caller) {
  if (!caller.proven && !hear_handshake(caller)) {
    note_stranger(caller);
    return false;
  }
  if (!caller.proven) return true;
  caller.proven->receive();
  if (const auto record = caller.proven->next()) {
    said_(*caller.proven, caller.address, *record);
    return false;
  }
  return !caller.proven->over();
}

/// False when it is nobody of ours.
bool Callers::hear_handshake(Caller& caller) {
  std::array<char, kHelloSize> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv() fills it
  for (;;) {
    const ssize_t got = ::recv(caller.fd(), buffer.data(), std::min(caller.handshake.wanted(), buffer.size()), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) return false;
    const HandshakeState progress = caller.handshake.feed({buffer.data(), static_cast<size_t>(got)});
    const std::string reply = caller.handshake.take_reply();
    const bool sent =
        ::send(caller.fd(), reply.data(), reply.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(reply.size());
    if (progress == HandshakeState::refused || !sent) return false;  // a new connection takes so few bytes at once
    if (progress == HandshakeState::proven) {
      caller.proven.emplace(std::move(caller.socket), caller.handshake.keys());
      return true;
    }
  }
}

std::string Callers::strangers() const {
  std::string text;
  if (wrong_keys_ > 0) text = count(wrong_keys_, "connection") + " without this key";
  if (strangers_ > 0) text += (text.empty() ? "" : ", ") + count(strangers_, "connection") + " of no dlaunch";
  std::string from;
  for (const std::string& address : addresses_) from += (from.empty() ? " (from " : ", ") + address;
  return text.empty() ? text : text + from + ')';
}

}  // namespace dlaunch::dialback
