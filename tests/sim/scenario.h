// A world as a value and as one line of text:
//
//   hosts=2 ranks=2 restarts=1 spares=1 grace=3 length=60 seed=1 | @2 silent n1 | +4 exit7 n0 | !Finish+0.02 killw n1
//
// The words before the first "|" describe the job and the hosts n0, n1, … (spare or idle hosts last). Each further part
// is a fault: a moment, a kind (world/faults.h), a host, and "for SECONDS" if the fault ends. Moments, in seconds:
//   @2          after the start of the world
//   +4          after the fault before it
//   !Finish+0   after the launcher first sent this message (names of wire/message.h)
//   ?lost+1     after dlaunch first printed this text ("_" stands for a space)
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "time/virtual_time.h"

namespace sim {

struct Moment {
  enum class After { start, fault, sent, printed };
  After after = After::start;
  Ns delay = 0;
  std::string text = {};  ///< name of a message, or printed text
};

struct Fault {
  Moment moment;
  std::string kind;
  int host = 0;
  Ns length = 0;  ///< 0: the fault does not end
};

struct Scenario {
  int hosts = 2;
  int ranks = 2;  ///< on each host
  int restarts = 0;
  int spares = 0;
  int idle = 0;  ///< instead of spare hosts: hosts of the allocation without ranks, which a spawn may use
  bool shrink = false;
  bool here = false;     ///< n0 is this machine: its agent passes descriptors
  bool stdin_ = false;   ///< rank 0 reads the launcher's stdin
  bool staged = false;   ///< each rank has a directory, and --stage sends files
  bool preempt = false;  ///< --checkpoint-signal USR1
  int spawn = 0;         ///< rank 0 lives for 1 s and then spawns this number of ranks, with the next ids
  bool shell = false;    ///< a login starts a shell, which then starts the agent (transport/bootstrap.h)
  Ns grace = 3 * kSecond;
  Ns timeout = 0;               ///< 0: none
  Ns after_first = 0;           ///< --wait-after-first; 0: none
  Ns length = 60 * kSecond;     ///< the life of a rank without faults
  std::optional<Ns> skew = {};  ///< the clock of n1 is behind by this time; empty: by the seed
  std::set<int> deaf = {};      ///< ranks that ignore TERM, INT and HUP
  std::set<int> stuck = {};     ///< ranks that KILL does not end
  std::set<int> daemons = {};   ///< ranks that leave a process which ignores TERM
  bool writes = false;          ///< the processes that ranks leave write on
  bool loud = false;            ///< long lines: a slow reader stops the ranks
  bool bug = false;             ///< in each round, some rank fails soon, always in the same way
  std::uint64_t seed = 1;
  std::vector<Fault> faults = {};

  int all_hosts() const { return hosts + spares + idle; }
  int all_ranks() const { return hosts * ranks; }  ///< without spawned ranks
  int ranks_with_spawned() const { return all_ranks() + spawn; }
  /// The error with which the launcher knows the clock of a host: half a round trip, which pauses and slow links
  /// enlarge.
  Ns clock_error() const { return seed % 5 == 1 ? 100 * kMs : 5 * kMs; }
  /// Whether each host and rank that the scenario names exists.
  bool is_whole() const;
};

std::string to_text(const Scenario& scenario);
/// Throws std::runtime_error with a text for the user.
Scenario parse_scenario(const std::string& text);
/// "12", "0.004"
std::string seconds_text(Ns time);

}  // namespace sim
