// How a node comes to its launcher: it connects as often as it takes, proves that it has the job's key, is shown that
// the launcher has it, too, and states what it was started for.
#pragma once

#include <string>

#include "base/time.h"
#include "dialback/end_signals.h"
#include "dialback/endpoint.h"
#include "dialback/introduction.h"
#include "dialback/messages.h"

namespace dlaunch::dialback {

/// Until the deadline. A launcher of another key or another job ends it at once.
Result<LauncherConnection> meet_launcher(const Endpoint& where, const Secret& key, const Statement& self, Time deadline,
                                         EndSignals& signals, const Messages& messages);

}  // namespace dlaunch::dialback
