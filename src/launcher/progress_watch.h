// Reads the ranks' progress out of what they write, and tells which ranks are behind (job/rank_progress.h). Owned by
// the launcher, for one round; everything given must outlive it.
#pragma once

#include <spdlog/fwd.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "dlaunch/job_options.h"
#include "dlaunch/outcome.h"
#include "dlaunch/output.h"
#include "dlaunch/plan.h"
#include "job/rank_progress.h"
#include "launcher/progress_lines.h"

namespace dlaunch::launcher {

class ProgressWatch {
 public:
  ProgressWatch(const plan::Plan& plan, const JobOptions& options, spdlog::logger& log);

  /// What a rank, or the sidecar, wrote.
  void fed(int rank, output::Stream stream, std::string_view bytes);
  void ended(int rank, output::Stream stream);
  /// To be called all the time. `all_read`: no output waits to be taken.
  void looked(const std::set<int>& running, bool all_read);

  /// None where no rank has told its progress.
  std::optional<job::Reached> all() const { return progress_.all(); }
  std::optional<std::int64_t> of(int rank) const { return progress_.of(rank); }
  /// Changes when a rank's progress does.
  std::uint64_t changes() const { return progress_.changes(); }
  void record(std::vector<job::RankRecord>& ranks) const;
  /// All ranks have ended well: it is told when nothing was found in what they wrote. (An earlier round may have had
  /// numbers, and the last one nothing left to do.)
  void succeeded() const;

 private:
  void take(int rank, std::optional<std::int64_t> number);
  ProgressLines* lines(int rank, output::Stream stream);

  const plan::Plan& plan_;
  const JobOptions& options_;
  spdlog::logger& log_;
  job::RankProgress progress_;
  std::vector<ProgressLines> lines_;  // two a rank
};

/// "rank 3 (node2) is behind: its progress is 120, the median of all ranks is 480". PURE.
std::string behind_text(const job::Laggards& behind, const plan::Plan& plan);

}  // namespace dlaunch::launcher
