// Whether a job hangs: from how long its ranks have written nothing, and from samples of what each of them does. PURE.
//
// - While ranks write, or the reader of their output is waited for, nobody is sampled (active()). In silence all ranks
//   are sampled at each fourth of the window.
// - A rank waits from one sample to the next while its stack and the hash of its frames' locals are equal, and it and
//   its descendants read and write less than kBusyBytes and use less CPU than kBusyShare. With more CPU it moves, as a
//   silent computation does, or a child that compiles. But within a call that waits for other ranks (MPI_Recv) a rank
//   may use one CPU: libraries poll there, and the hash of its callers' locals tells whether it left the call
//   meanwhile.
// - A job hangs when the window has passed in silence and each rank that runs waited in its last kSamples samples. A
//   rank that waits for storage, is stopped or traced, or gave no sample does not wait.
// - Lines without progress (spoke()) do not end the silence, but while there are some the job does not hang: it may
//   evaluate, though stacks and locals stay equal. That all ranks wait is told all the same.
// - What is found is told once in each silence; that the job hangs, also after it was told that some ranks wait.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/time.h"

namespace dlaunch::job {

/// What a rank does, with its descendants, at one moment.
struct RankSample {
  enum class State { runs, stopped, traced, waits_for_storage };

  int rank = 0;
  State state = State::runs;
  std::uint64_t stack = 0;                   ///< names its frames
  std::optional<std::uint64_t> locals = {};  ///< hash of their locals; none: not known
  bool polls = false;                        ///< its main thread runs within a call that waits for other ranks
  std::chrono::milliseconds cpu{0};          ///< used so far by all of them
  std::int64_t io_bytes = 0;                 ///< read and written so far by all of them
};

enum class Doing { unknown, moves, waits, waits_for_storage, stopped, traced };

struct Verdict {
  enum class Kind { nothing, some_wait, hangs };
  Kind kind = Kind::nothing;                  ///< what is to be told now
  std::map<Doing, std::set<int>> doing = {};  ///< each rank that runs
};

class Hangs {
 public:
  static constexpr int kSamples = 4;                      ///< in a window
  static constexpr double kBusyShare = 0.01;              ///< of one CPU
  static constexpr double kPollingShare = 1.05;           ///< the same within a call that waits for other ranks
  static constexpr std::chrono::milliseconds kTicks{20};  ///< CPU times are counted in steps of 10 ms
  static constexpr std::int64_t kBusyBytes = 64u << 10;
  static constexpr std::chrono::seconds kStall{2};      ///< the least time that nobody asked, and so nobody was there
  static constexpr std::chrono::seconds kSuspended{1};  ///< the least that tells a machine that was suspended

  Hangs(Duration window, Time now);

  /// A rank wrote something, or could not because nobody reads.
  void active(Time now);
  /// A rank wrote something that is no progress, where progress is known.
  void spoke(Time now) { spoke_ = now; }
  /// Whether all ranks are to be sampled now; judge() follows. To be asked all the time. `suspended` is for how long
  /// the machine has slept in all. After a time in which we did not run, the silence begins anew.
  bool due(Time now, Duration suspended);
  Verdict judge(const std::vector<RankSample>& samples, const std::set<int>& running, Time now);

 private:
  struct Rank {
    RankSample first;  // since it waits
    Time since;
    int waited = 0;  // samples running
    Doing doing = Doing::unknown;
  };
  Duration step() const { return window_ / kSamples; }
  void take(const RankSample& sample, Time now);
  static Doing compare(const Rank& before, const RankSample& sample, Time now);

  const Duration window_;
  Time silent_since_;
  std::optional<Time> spoke_ = {};
  Time next_;
  Time asked_;
  Duration suspended_{0};
  bool fresh_ = true;  // suspended_ is not known yet
  std::map<int, Rank> ranks_;
  Verdict::Kind told_ = Verdict::Kind::nothing;
};

}  // namespace dlaunch::job
