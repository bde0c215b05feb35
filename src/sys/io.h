// Makes descriptors of every kind, all O_CLOEXEC; reads and writes where that takes more than read(2) and write(2).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sys/fd.h"

namespace dlaunch::sys {

/// Throws std::system_error with the call's name, for a failure that cannot happen.
[[noreturn]] void throw_errno(const char* call);

struct Pipe {
  Fd read;
  Fd write;
};

/// Both ends are empty, with errno set, when descriptors or memory run out.
Pipe make_pipe();
/// Two connected unix stream sockets; throws.
std::pair<Fd, Fd> make_socketpair();

void set_nonblocking(int fd);

/// Writes all bytes to a blocking descriptor. False with errno set.
bool write_all(int fd, std::string_view bytes);

/// How many descriptors one message of send_some may carry (SCM_MAX_FD is 253).
inline constexpr std::size_t kMaxPassedFds = 64;

/// Writes what the descriptor takes now, with `fds` attached (which needs a unix socket). -1 with errno set, never
/// EINTR.
ssize_t send_some(int fd, std::string_view bytes, std::span<const Fd> fds);

/// Reads what is there now and appends descriptors that came with it (a pipe carries none). 0 at the end of file, -1
/// with errno set, never EINTR.
ssize_t receive_some(int fd, std::span<char> into, std::vector<Fd>& fds);

}  // namespace dlaunch::sys
