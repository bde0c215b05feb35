// Opens a rank's descriptors 0, 1 and 2 as its Spawn requests: the child's ends and the agent's ends.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "agent/program.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::agent {

struct Stdio {
  sys::Fd child_in, child_out, child_err;
  sys::Fd in;        ///< the agent writes the rank's stdin here; empty: no stdin
  sys::Fd out, err;  ///< the agent reads the rank's output here; empty: nothing to read
  bool terminal = false;
};

tl::expected<Stdio, Refusal> open_stdio(const wire::Spawn& spawn, wire::WindowSize size);

/// Sets the size of the rank's terminal; the kernel then sends SIGWINCH.
void resize_terminal(int fd, wire::WindowSize size);

}  // namespace dlaunch::agent
