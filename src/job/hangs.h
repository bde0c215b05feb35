// Detects a job that hangs, from the time without output and from samples of each rank's stack, CPU and I/O. PURE.
// Owned by RankWatch.
//
// - Ranks are not sampled while they write, or while the launcher waits for the reader of their output (active()).
//   During silence all ranks are sampled kSamples times per window.
// - A rank that waits has equal stacks and equal hashes of its frames' locals in consecutive samples. In between, the
//   rank and its descendants use less I/O than kBusyBytes and less CPU than kBusyShare. With more CPU the rank moves (a
//   computation, a child that compiles). Inside a call that waits for other ranks (MPI_Recv) a rank
//   may use one CPU, because libraries poll; a changed hash of the callers' locals shows that the rank left the call.
// - A job hangs if the whole window was silent and each running rank waited in its last kSamples samples. A rank that
//   waits for storage, is stopped or traced, or gave no sample does not count as waiting.
// - Lines without progress (wrote_without_progress()) do not end the silence, but prevent the verdict `hangs` for one
//   window: the job may evaluate with equal stacks and locals. If all ranks wait, the verdict is `some_wait`.
// - Each verdict is given once per silence; `hangs` may follow `some_wait`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/time.h"

namespace dlaunch::job {

/// The state of a rank and its descendants at one moment.
struct RankSample {
  enum class State { runs, stopped, traced, waits_for_storage };

  int rank = 0;
  State state = State::runs;
  std::uint64_t stack = 0;                   ///< hash of the frames
  std::optional<std::uint64_t> locals = {};  ///< hash of the frames' locals; none: unknown
  bool polls = false;                        ///< the main thread runs inside a call that waits for other ranks
  std::chrono::milliseconds cpu{0};          ///< used so far by all processes
  std::int64_t io_bytes = 0;                 ///< read and written so far by all processes
};

enum class Doing { unknown, moves, waits, waits_for_storage, stopped, traced };

struct Verdict {
  enum class Kind { nothing, some_wait, hangs };
  Kind kind = Kind::nothing;                  ///< to be reported now
  std::map<Doing, std::set<int>> doing = {};  ///< all running ranks
};

class Hangs {
 public:
  static constexpr int kSamples = 4;                      ///< in a window
  static constexpr double kBusyShare = 0.01;              ///< of one CPU
  static constexpr double kPollingShare = 1.05;           ///< of one CPU, inside a call that waits for other ranks
  static constexpr std::chrono::milliseconds kTicks{20};  ///< CPU times are counted in steps of 10 ms
  static constexpr std::int64_t kBusyBytes = 64u << 10;
  static constexpr std::chrono::seconds kStall{2};      ///< minimum gap between calls of due() that counts as a stall
  static constexpr std::chrono::seconds kSuspended{1};  ///< minimum suspension that restarts the silence

  Hangs(Duration window, Time now);

  /// A rank wrote something, or waits for a slow reader of its output.
  void active(Time now);
  /// A rank wrote a line without progress, in a job with --progress.
  void wrote_without_progress(Time now) { spoke_ = now; }
  /// Whether to sample all ranks now. Call this function regularly: a gap of kStall restarts the silence. `suspended`:
  /// how long the machine has been suspended in total.
  bool due(Time now, Duration suspended);
  Verdict evaluate(const std::vector<RankSample>& samples, const std::set<int>& running, Time now);

 private:
  struct Rank {
    RankSample first;  // the first sample of the current wait
    Time since;
    int waited = 0;  // consecutive samples
    Doing doing = Doing::unknown;
  };
  Duration step() const { return window_ / kSamples; }
  void take(const RankSample& sample, Time now);
  static Doing compare(const Rank& before, const RankSample& sample, Time now);

  const Duration window_;
  Time silent_since_;
  std::optional<Time> spoke_ = {};
  Time next_;
  Time last_call_;
  Duration suspended_{0};
  bool fresh_ = true;  // suspended_ is not set yet
  std::map<int, Rank> ranks_;
  Verdict::Kind reported_ = Verdict::Kind::nothing;
};

}  // namespace dlaunch::job
