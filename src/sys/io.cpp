#include "sys/io.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace dlaunch::sys {
namespace {

constexpr size_t kControlSize = CMSG_SPACE(sizeof(int) * kMaxPassedFds);
using ControlBuffer = std::array<char, kControlSize>;

void attach(msghdr& message, ControlBuffer& control, std::span<const Fd> fds) {
  const size_t bytes = sizeof(int) * fds.size();
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(bytes);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(bytes);
  for (size_t i = 0; i < fds.size(); ++i) {
    const int fd = fds[i].get();
    std::memcpy(CMSG_DATA(header) + i * sizeof(int), &fd, sizeof fd);
  }
}

void detach(msghdr& message, std::vector<Fd>& fds) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
}

}  // namespace

void throw_errno(const char* call) { throw std::system_error(errno, std::generic_category(), call); }

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  return {Fd(ends[0]), Fd(ends[1])};
}

std::pair<Fd, Fd> make_socketpair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_errno("socketpair");
  return {Fd(ends[0]), Fd(ends[1])};
}

void set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) throw_errno("fcntl(F_SETFL)");
}

int poll_until(std::span<pollfd> fds, Time deadline) {
  int got = 0;
  do {
    got = ::poll(fds.data(), fds.size(), milliseconds_until(deadline));
  } while (got < 0 && errno == EINTR);
  return got;
}

bool may_write_again(int fd) {
  constexpr int kWaitMs = 1000;
  if (errno == EINTR) return true;
  if (errno != EAGAIN) return false;
  pollfd ready{fd, POLLOUT, 0};
  ::poll(&ready, 1, kWaitMs);
  return true;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno != EINTR) return false;
    if (wrote > 0) bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

ssize_t send_some(int fd, std::string_view bytes, std::span<const Fd> fds) {
  if (fds.empty()) return TEMP_FAILURE_RETRY(::write(fd, bytes.data(), bytes.size()));
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};  // sendmsg does not write to this buffer
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) ControlBuffer control{};
  attach(message, control, fds);
  return TEMP_FAILURE_RETRY(::sendmsg(fd, &message, MSG_NOSIGNAL));
}

ssize_t receive_some(int fd, std::span<char> into, std::vector<Fd>& fds) {
  iovec part{into.data(), into.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) ControlBuffer control{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = TEMP_FAILURE_RETRY(::recvmsg(fd, &message, MSG_CMSG_CLOEXEC));
  if (got < 0 && errno == ENOTSOCK) return TEMP_FAILURE_RETRY(::read(fd, into.data(), into.size()));
  if (got >= 0) detach(message, fds);
  return got;
}

}  // namespace dlaunch::sys
