// A job of dlaunch as a child of this process, with faults at their times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "chaos/verdict.h"
#include "sys/caught_signals.h"

namespace dlaunch::chaos {

struct ChaosSetup {
  std::vector<Fault> faults;
  std::uint64_t seed = 0;
  std::vector<std::string> words;  ///< the launcher's command line, after its name
  std::string record;              ///< the path of its --report; empty: not requested
  bool proxies = false;            ///< the job's links may have proxies
};

struct ChaosOutcome {
  std::vector<Injection> injections;
  Seen seen;
  double seconds = 0;
};

/// Runs the job to its end and observes the result. `signals`, with kEndSignals, go to the launcher. `tell` gets a line
/// for each action. An Error: the job was not started.
Result<ChaosOutcome> run_chaos_job(const ChaosSetup& setup, sys::CaughtSignals& signals,
                                   const std::function<void(const std::string&)>& tell);

}  // namespace dlaunch::chaos
