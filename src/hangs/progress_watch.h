// Reads the ranks' progress from their output, and reports ranks that lag (job/rank_progress.h). Owned by RankWatch
// for one round; all constructor arguments must outlive this object.
#pragma once

#include <spdlog/fwd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/job_options.h"
#include "dlaunch/outcome.h"
#include "dlaunch/output.h"
#include "dlaunch/plan.h"
#include "job/rank_progress.h"

namespace dlaunch::hangs {

/// Splits one stream of a rank into lines to search for progress numbers. A passive value. Owned by ProgressWatch, one
/// for each stream.
class ProgressLines {
 public:
  static constexpr std::size_t kLongest = 4096;  ///< dlaunch searches only the first bytes of a line
  using Read = std::function<std::optional<std::int64_t>(std::string_view line)>;

  /// Returns the progress in the last of these lines with a number. Lines end at a newline or a carriage return.
  std::optional<std::int64_t> feed(std::string_view bytes, const Read& read);
  /// The stream has ended: searches the unfinished line.
  std::optional<std::int64_t> end(const Read& read);

 private:
  static constexpr std::size_t kKept = kLongest + 1;  // one byte more than the limit marks a longer line

  std::string begun_;  // the unfinished line
};

class ProgressWatch {
 public:
  ProgressWatch(const plan::Plan& plan, const JobOptions& options, spdlog::logger& log);

  /// A rank, or the sidecar, wrote these bytes.
  void fed(int rank, output::Stream stream, std::string_view bytes);
  void ended(int rank, output::Stream stream);
  /// Call regularly. `all_read`: all output was taken.
  void poll(const std::set<int>& running, bool all_read);

  /// nullopt if no rank has reported progress.
  std::optional<job::Reached> all() const { return progress_.all(); }
  std::optional<std::int64_t> of(int rank) const { return progress_.of(rank); }
  /// Changes when a rank's progress changes.
  std::uint64_t changes() const { return progress_.changes(); }
  void record(std::vector<job::RankRecord>& ranks) const;
  /// All ranks have succeeded: warns if no progress number was found. Not in a later round: an earlier round may have
  /// had numbers, and the last round may have had no work left.
  void succeeded() const;

 private:
  void take(int rank, std::optional<std::int64_t> number);
  ProgressLines* lines(int rank, output::Stream stream);

  const plan::Plan& plan_;
  const JobOptions& options_;
  spdlog::logger& log_;
  job::RankProgress progress_;
  std::vector<ProgressLines> lines_;  // two per rank
};

/// "rank 3 (node2) lags: progress 120, median of all ranks 480". PURE.
std::string behind_text(const job::Laggards& behind, const plan::Plan& plan);

}  // namespace dlaunch::hangs
