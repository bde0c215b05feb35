// The signals to dlaunch that end its job. Terminals send INT, QUIT and HUP, people and batch systems TERM, Grid Engine
// and LSF XCPU at a limit of CPU time, `timeout -s` ALRM.
#pragma once

#include <algorithm>
#include <array>
#include <csignal>

namespace dlaunch {

inline constexpr std::array kEndSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGALRM};

constexpr bool is_end_signal(int signal) { return std::ranges::find(kEndSignals, signal) != kEndSignals.end(); }

}  // namespace dlaunch
