// Random bytes for a handshake, from the kernel.
#pragma once

#include "dialback/handshake.h"

namespace dlaunch::dialback {

Fresh make_fresh();

}  // namespace dlaunch::dialback
