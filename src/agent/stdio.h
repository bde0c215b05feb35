// Opens what a rank's 0, 1 and 2 are connected to, as its Spawn says: the child's ends and ours.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "agent/program.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::agent {

struct Stdio {
  sys::Fd child_in, child_out, child_err;
  sys::Fd in;        ///< we write the rank's stdin here; empty: it has none
  sys::Fd out, err;  ///< we read its output here; empty: nothing to read
  bool terminal = false;
};

tl::expected<Stdio, Refusal> open_stdio(const wire::Spawn& spawn, wire::WindowSize size);

/// Sets the size of the rank's terminal, for which the kernel sends SIGWINCH.
void resize_terminal(int fd, wire::WindowSize size);

}  // namespace dlaunch::agent
