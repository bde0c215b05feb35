// How a node connects to its launcher: repeats the attempt until the launcher admits the node (introduction.h).
#pragma once

#include <string>

#include "base/time.h"
#include "dialback/contact.h"
#include "dialback/end_signals.h"
#include "dialback/introduction.h"
#include "dialback/messages.h"

namespace dlaunch::dialback {

/// Tries until the deadline. A launcher with another key or another job ends the attempts at once.
Result<LauncherConnection> meet_launcher(const Endpoint& where, const Secret& key, const Statement& self, Time deadline,
                                         EndSignals& signals, const Messages& messages);

}  // namespace dlaunch::dialback
