// The files of a round before its ranks start. Steps, in this order:
// 1. The hosts answer, and each host checks its programs (program_check.h).
// 2. The launcher changes its own files: Output::begin(), then Round::begin_others.
// 3. The hosts fill the directories of ranks (rank_dir_staging.h).
// A refused program, or a host that is lost, ends the start before step 2. Owned by the Launcher; all constructor
// arguments must outlive this object.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/lifetime.h"
#include "base/time.h"
#include "dlaunch/error.h"
#include "launcher/component.h"
#include "launcher/program_check.h"
#include "launcher/round_output.h"
#include "wire/message.h"

namespace dlaunch::launcher {

/// The parameters of one round of a job.
struct Round {
  bool may_follow = false;            ///< another round may follow this one
  std::optional<Time> start_at = {};  ///< the earliest start of its ranks
  /// Call Output::begin() when all hosts have answered, before they create the directories of ranks; else it is
  /// called when all hosts are ready.
  bool files_first = false;
  /// Changes the other files, after Output::begin(). An Error ends the job.
  std::function<void(RoundOutput::Begun begun)> begin_others = [](const RoundOutput::Begun& begun) { begun({}); };
  /// The step of the disk that `begin_others` waits for.
  std::function<std::string()> others_step = [] { return ""; };
};

class StartFiles {
 public:
  struct Handlers {
    std::function<void(int host)> reached;  ///< a held host may prepare its ranks
    std::function<void()> fill;             ///< the hosts may fill the directories of ranks
  };
  StartFiles(const Context& context, const Round& round, Handlers handlers)
      : context_(context), round_(round), handlers_(std::move(handlers)), programs_(context.plan, context.options) {}

  /// The host's agent has answered: asks for its programs. Returns false if the host is held: with Round::files_first,
  /// Handlers::reached gets the host later.
  bool reached(int host);
  /// The job knows the loss.
  void lost(int host);
  /// The job asks for the files: job::PrepareFiles.
  void prepare();
  /// An answer about programs. Returns the protocol error, or an empty text.
  std::string take(int host, const wire::HostInfo& answer);
  /// The step of the disk for which the start of the ranks waits; empty: none.
  std::string waits_for() const;

 private:
  enum class State { unchanged, beginning, others, begun };

  bool holds_hosts() const { return round_.files_first && state_ != State::begun; }
  void checked();
  void begin_first();
  void begin();
  void begun(const Result<void>& result);
  void fill();

  const Context& context_;
  const Round& round_;
  const Handlers handlers_;
  ProgramCheck programs_;
  State state_ = State::unchanged;
  std::vector<int> held_hosts_;  // hosts that answered before the files of files_first
  bool asked_ = false;           // by the job
  const Lifetime lifetime_;
};

}  // namespace dlaunch::launcher
