// A job of dlaunch as a child of this process, with faults done to it at their times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "chaos/verdict.h"

namespace dlaunch::chaos {

struct ChaosSetup {
  std::vector<Fault> faults;
  std::uint64_t seed = 0;
  std::vector<std::string> words;  ///< of the launcher's command line, after its name
  std::string record;              ///< the path of its --report; empty: none is asked for
  bool proxies = false;            ///< its links may have one
};

struct ChaosOutcome {
  std::vector<Injection> injections;
  Seen seen;
  double seconds = 0;
};

/// Runs it to its end and sees what it left. `tell` gets a line for each thing that is done. An Error: nothing was
/// started.
Result<ChaosOutcome> run_chaos_job(const ChaosSetup& setup, const std::function<void(const std::string&)>& tell);

}  // namespace dlaunch::chaos
