#include "dialback/node_service.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "dlaunch/exit_status.h"

namespace dlaunch::dialback {

NodeService::NodeService(LauncherConnection connection, LocalAgent agent, EndSignals& signals)
    : agent_(std::move(agent)),
      signals_(signals),
      launcher_(std::move(connection.address)),
      carrier_(std::move(connection.socket), [this](const SealedRecord& record) { take_record(record); }) {}

Result<int> NodeService::run() {
  SealedSocket& socket = carrier_.socket();
  // Records that arrived with the welcome are processed before the first wait.
  std::vector<pollfd> polled(2 + Carrier::kPolled);
  sys::CaughtSignals warnings(kForwarded);
  for (;;) {
    socket.beat(Clock::now());
    carrier_.turn(&polled[2]);
    if (outcome_) return over(*outcome_);
    if (refusal_) return over(fail(*refusal_));
    if (const auto signal = signals_.next()) {
      // The agent passes on only TERM, INT and HUP.
      const bool passed = *signal == SIGINT || *signal == SIGHUP;
      if (agent_runs_ && agent_.forward(passed ? *signal : SIGTERM)) continue;
      socket.send(SealedRecord::Kind::data_end,
                  to_payload(DataEnd{false, signal_name(*signal) + " ended dlaunch on this host"}));
      socket.flush();
      return over(interrupted_by(*signal).exit_code);
    }
    if (const auto warning = warnings.next(); warning && agent_runs_) agent_.forward(warning->number);
    if (socket.over()) return over(launcher_lost(socket.why()));
    if (agent_runs_ && carrier_.local_ended()) agent_ended();
    // While an agent runs, the heartbeat of its link detects a lost launcher. The detection ends when the agent closes
    // its end of the link, even if its last bytes are still unread here.
    const bool link_detects_loss = agent_runs_ && !carrier_.local_hung_up();
    if (!link_detects_loss && socket.silent(Clock::now()))
      return over(launcher_lost("node 0 stopped sending heartbeats"));
    polled = {{signals_.fd(), POLLIN, 0}, {warnings.fd(), POLLIN, 0}};
    carrier_.watch(polled);
    const Time next = link_detects_loss ? socket.next_beat() : std::min(socket.next_beat(), socket.silent_at());
    ::poll(polled.data(), polled.size(), milliseconds_until(next));
  }
}

void NodeService::take_record(const SealedRecord& record) {
  switch (record.kind) {
    case SealedRecord::Kind::data:
      if (!carrier_.attached() && !carrier_.local_ended()) start_agent();
      return;
    case SealedRecord::Kind::outcome:
      outcome_ = exit_code_in(record.payload);
      if (*outcome_ < 0) outcome_ = kExitHostLost;
      return;
    case SealedRecord::Kind::refusal:
      refusal_ = refusal_in(record.payload);
      return;
    case SealedRecord::Kind::statement:
    case SealedRecord::Kind::welcome:
    case SealedRecord::Kind::alive:
    case SealedRecord::Kind::data_end:
      return;
  }
}

void NodeService::start_agent() {
  auto link = agent_.start();
  if (link) {
    carrier_.attach(*std::move(link));
    carrier_.socket().limit_acknowledgement({});  // output may fill the buffers of a launcher that is stopped
    agent_runs_ = true;
    return;
  }
  carrier_.socket().send(SealedRecord::Kind::data_end,
                         to_payload(DataEnd{true, link.error().what + ": " + link.error().why}));
  carrier_.detach();
}

/// The launcher may be notified only after no process of the job is left here.
void NodeService::agent_ended() {
  agent_runs_ = false;
  carrier_.detach();
  agent_.end();
  carrier_.socket().send(SealedRecord::Kind::data_end, to_payload(DataEnd{.nothing_left = true}));
}

Result<int> NodeService::over(Result<int> how) {
  carrier_.detach();
  agent_.end();
  return how;
}

tl::unexpected<Error> NodeService::launcher_lost(std::string why) const {
  return fail({launcher_, "lost the connection to node 0 before the job's exit code arrived", std::move(why),
               "check the messages of node 0", kExitHostLost});
}

}  // namespace dlaunch::dialback
