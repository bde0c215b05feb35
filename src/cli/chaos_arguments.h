// The words after `dlaunch chaos`. Pure but for the plan, which read_text reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "chaos/verdict.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

struct ChaosHelp {
  std::string text;
};

/// What a job's launcher calls for each of its links.
struct ChaosLink {
  std::vector<std::string> words;
};

struct ChaosRun {
  std::vector<chaos::Fault> faults = {};
  std::optional<std::uint64_t> seed = {};
  chaos::Expectations expected = {};
  std::string report = {};              ///< --report, as typed; empty: none
  std::string junit = {};               ///< --junit
  std::vector<std::string> words = {};  ///< the job's: options and program
};

using ChaosCommand = std::variant<ChaosHelp, ChaosLink, ChaosRun>;

Result<ChaosCommand> parse_chaos(const std::vector<std::string>& args);

}  // namespace dlaunch::cli
