// One fault of a plan, WHAT:TARGET@WHEN[+FOR], as `dlaunch chaos` reads and writes it (docs/test-recovery.md). PURE.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::chaos {

using Milliseconds = std::chrono::milliseconds;

enum class FaultKind {
  kill,    ///< SIGKILL
  stop,    ///< SIGSTOP, and SIGCONT when it is over
  cut,     ///< a host's link carries nothing and stays open, so that both sides see silence; an interface is down
  reset,   ///< a host's link is closed
  slow,    ///< a host's link carries at most so many bytes a second, each way; an interface sends no more than that
  full,    ///< no file of the launcher's grows beyond a size
  signal,  ///< any signal
};

struct FaultTarget {
  enum class Kind { rank, agent, link, launcher, output, interface } kind = Kind::rank;
  int rank = 0;
  std::string host = {};       ///< of an agent or a link
  std::string interface = {};  ///< of this machine, in the network namespace of dlaunch chaos
  bool any = false;            ///< in place of rank or host: the seed decides, when the fault meets
  bool operator==(const FaultTarget&) const = default;
};

/// Since all ranks of a round run, or the n-th line of the job's output that matches.
struct When {
  Milliseconds time{0};
  int round = 0;
  std::string line = {};  ///< an expression of RE2, as --progress; empty: by time
  int nth = 1;
  bool operator==(const When&) const = default;
};

struct Fault {
  FaultKind what = FaultKind::kill;
  FaultTarget target = {};
  When when = {};
  std::optional<Milliseconds> lasts = {};  ///< empty: until the end of the job
  long long bytes = 0;                     ///< slow: a second; full: of each file
  int signal = 0;                          ///< FaultKind::signal
  bool operator==(const Fault&) const = default;
};

/// An Error has no `where`.
Result<Fault> parse_fault(std::string_view text);

/// What parse_fault reads as the same fault.
std::string to_text(const Fault& fault);

/// "rank 3", "the agent of fake2", "the link of fake2", "the launcher".
std::string to_words(const FaultTarget& target);

}  // namespace dlaunch::chaos
