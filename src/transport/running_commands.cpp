#include "transport/running_commands.h"

#include <csignal>

namespace dlaunch::transport {
namespace {

// Limits for all commands together. A command exits by itself after its stream is closed, unless the command is still
// connecting.
constexpr std::chrono::milliseconds kAllEndByThemselves{1000};
constexpr std::chrono::milliseconds kAllMustEndByThemselves{10000};
constexpr std::chrono::milliseconds kAllEndAfterTerm{1000};  // a local agent also needs time to end its ranks
constexpr std::chrono::milliseconds kAllEndAfterKill{1000};  // a longer wait means uninterruptible sleep

}  // namespace

bool RunningCommands::wait_for_all(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::erase_if(children_, [&](const Child& child) { return child.command.ends_by(deadline); });
  return children_.empty();
}

void RunningCommands::signal_all(int signal) {
  for (const Child& child : children_) child.command.signal(signal);
}

bool RunningCommands::end_all(Ending ending) {
  if (ending == Ending::by_itself) return wait_for_all(kAllMustEndByThemselves);
  if (wait_for_all(kAllEndByThemselves)) return true;
  signal_all(SIGTERM);
  signal_all(SIGCONT);  // a stopped command would not receive SIGTERM
  if (wait_for_all(kAllEndAfterTerm)) return true;
  signal_all(SIGKILL);
  return wait_for_all(kAllEndAfterKill);
}

void RunningCommands::end(Ending ending, const std::function<void(const std::string&)>& note) {
  if (end_all(ending)) return;
  const char* const what = ending == Ending::by_signal ? ", did not end after SIGKILL: uninterruptible sleep"
                                                       : ", still runs: a signal would end the whole job";
  for (const Child& child : children_) {
    if (note) note(child.host + ": the transport's command, pid " + std::to_string(child.command.pid()) + what);
  }
  children_.clear();
}

}  // namespace dlaunch::transport
