// Random bytes for a handshake, from the kernel.
#pragma once

#include "dialback/handshake.h"

namespace dlaunch::dialback {

HandshakeRandom random_for_handshake();

}  // namespace dlaunch::dialback
