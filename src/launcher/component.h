// One feature of a running job in the launcher, such as MPI, stdin, hangs or sweeps. The Launcher offers each event to
// its components, in order. A new feature is a component and one line in session/components.h.
#pragma once

#include <spdlog/fwd.h>

#include <asio/io_context.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dlaunch/job_options.h"
#include "dlaunch/listener.h"
#include "dlaunch/plan.h"
#include "job/job.h"
#include "launcher/hosts.h"
#include "launcher/round_output.h"
#include "output/output.h"
#include "plan/spawn_plan.h"
#include "sys/fd.h"
#include "wire/message.h"

namespace dlaunch::launcher {

/// The parts of a round that its components share. All references outlive the components.
struct Context {
  asio::io_context& io;
  const plan::Plan& plan;                 ///< grows at its end
  plan::RoundPlan& round_plan;            ///< for MPI, which adds spawned ranks and their hosts
  std::vector<output::RankFacts>& facts;  ///< of each rank, and of the sidecar after them
  const JobOptions& options;
  Hosts& hosts;
  RoundOutput& output;
  const job::Job& job;
  spdlog::logger& log;
  std::map<int, std::string>* error_texts;  ///< Launcher::Parts::error_texts
  /// Passes the event to the job, and performs the job's actions.
  std::function<void(const job::Event&)> happened;
  /// The host is prepared for its ranks: see Component::reached().
  std::function<void(int host)> ready;
  std::function<void(int host, const HostFailure& loss)> lost;
  /// As if this process received the signal. The loop handles the signal later.
  std::function<void(int signal)> signalled;

  /// The host's agent violates the protocol. Does nothing if `why` is empty.
  void broken(int host, const std::string& why) const {
    if (!why.empty()) lost(host, {why});
  }
};

class Component {
 public:
  Component() = default;
  Component(const Component&) = delete;
  Component& operator=(const Component&) = delete;
  virtual ~Component() = default;

  /// Before the first event: sets what the job waits for.
  virtual void prepare(job::Job& /*job*/) {}

  /// The host's agent has answered. Returns false if the component will call Context::ready for this host.
  virtual bool reached(int /*host*/) { return true; }
  virtual void host_ready(int /*host*/) {}
  /// Called before the job receives the loss.
  virtual void host_lost(int /*host*/, const HostFailure& /*loss*/) {}
  /// Called after the job has received the loss.
  virtual void host_gone(int /*host*/) {}
  /// All hosts are ready, and the launcher has changed its own files. One component raises job::FilesReady.
  virtual void files_begun() {}
  /// Data that the ranks of this host share, sent before the ranks start: at the job's start, or of a spawned world.
  virtual std::vector<wire::Message> shared_frames(int /*host*/) { return {}; }

  /// A message of an agent, in an order that RankOrder allows; `fds` came with it. Returns true if no other part of the
  /// launcher handles the message.
  virtual bool on(int /*host*/, wire::Message& /*message*/, std::deque<sys::Fd>& /*fds*/) { return false; }
  /// The rank has ended, or cannot be started. The job gets the event afterwards.
  virtual void rank_ended(int /*rank*/) {}
  /// The output of the rank, or of the sidecar, is complete.
  virtual void drained(int /*number*/) {}

  /// The launcher has performed its own part of the action.
  virtual void perform(const job::Action& /*action*/) {}
  /// This process received the signal. Returns true if the signal is not for the job.
  virtual bool on_signal(int /*signal*/) { return false; }
  /// Called every kProgressTick. May complete the progress for the Listener.
  virtual void tick(job::Progress& /*progress*/) {}
  /// The round has ended. May complete its outcome.
  virtual void ended(job::Outcome& /*outcome*/) {}
};

using Components = std::vector<std::unique_ptr<Component>>;
/// Makes the components, in the order in which they receive events. The context outlives them.
using MakeComponents = Components (*)(const Context& context);

}  // namespace dlaunch::launcher
