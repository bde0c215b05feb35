#include "transport/ssh/connection.h"

#include <poll.h>

namespace dlaunch::transport::ssh {

int SshConnection::finish(int again, const std::function<int()>& call) const {
  for (;;) {
    const int answer = call();
    if (answer != again) return answer;
    if (lib.ssh_is_connected(session) == 0 || guard.expired() || guard.ended()) return SSH_ERROR;
    const bool writes = (lib.ssh_get_poll_flags(session) & SSH_WRITE_PENDING) != 0;
    pollfd socket{guard.fd(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0};
    ::poll(&socket, 1, -1);  // a socket is readable after shutdown()
  }
}

}  // namespace dlaunch::transport::ssh
