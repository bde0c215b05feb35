// Creates descriptors of every kind, all O_CLOEXEC. Reads and writes that need more than one read(2) or write(2).
#pragma once

#include <poll.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "sys/fd.h"

namespace dlaunch::sys {

/// Throws std::system_error with the name of the call, for a failure that must not happen.
[[noreturn]] void throw_errno(const char* call);

struct Pipe {
  Fd read;
  Fd write;
};

/// Both ends are empty, with errno set, if descriptors or memory run out.
Pipe make_pipe();
/// Two connected unix stream sockets; throws.
std::pair<Fd, Fd> make_socketpair();

void set_nonblocking(int fd);

/// Waits until a descriptor is ready, at most until the deadline. Returns as poll(2), but never EINTR.
using Wait = std::function<int(std::span<pollfd> fds, Time deadline)>;
int poll_until(std::span<pollfd> fds, Time deadline);

/// Whether to write again after a failed write(2) to a file that should block. Waits at most 1 s if another process
/// made it non-blocking.
bool may_write_again(int fd);

/// Writes all bytes to a blocking descriptor. Returns false with errno set.
bool write_all(int fd, std::string_view bytes);

/// The limit of descriptors in one message of send_some (SCM_MAX_FD is 253).
inline constexpr std::size_t kMaxPassedFds = 64;

/// Writes the accepted bytes now, with `fds` attached (requires a unix socket). Returns -1 with errno set, never EINTR.
ssize_t send_some(int fd, std::string_view bytes, std::span<const Fd> fds);

/// Reads the available bytes and appends received descriptors (a pipe does not carry any). Returns 0 at end of file, -1
/// with errno set, never EINTR.
ssize_t receive_some(int fd, std::span<char> into, std::vector<Fd>& fds);

}  // namespace dlaunch::sys
