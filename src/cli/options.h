// All that the user asked, with every default decided here and nowhere later. A value; `run` owns it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/policy.h"
#include "output/settings.h"
#include "plan/request.h"

namespace dlaunch::cli {

/// Whose stdin the launcher's stdin is.
struct StdinTarget {
  enum class Kind { none, all, rank } kind = Kind::rank;
  int rank = 0;
};

enum class Format { text, json };

struct Options {
  plan::Request request;
  std::optional<int> fake_devices;
  output::Settings output;
  StdinTarget stdin_target;
  job::Policy policy;

  bool dry_run = false;
  Format format = Format::text;     ///< of --dry-run and --show-config
  std::optional<int> show_env;      ///< --show-env RANK
  std::string report_file;          ///< --report; absolute; empty: none
  int verbosity = 0;                ///< -v, -vv
};

}  // namespace dlaunch::cli
