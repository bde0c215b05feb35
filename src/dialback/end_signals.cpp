#include "dialback/end_signals.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "base/end_signals.h"
#include "dlaunch/exit_status.h"
#include "sys/inherited.h"

namespace dlaunch::dialback {
namespace {

std::vector<int> not_ignored(std::span<const int> signals) {
  std::vector<int> kept;
  std::ranges::copy_if(signals, std::back_inserter(kept), [](int signal) { return !sys::is_kept(signal); });
  return kept;
}

}  // namespace

EndSignals::EndSignals() : caught_(not_ignored(kEndSignals)) {}

std::optional<int> EndSignals::came() {
  if (!came_) came_ = next();
  return came_;
}

std::optional<int> EndSignals::next() {
  const auto signal = caught_.next();
  return signal ? std::optional(signal->number) : std::nullopt;
}

void ignore_forwarded() {
  for (const int signal : kForwarded) ::signal(signal, SIG_IGN);
}

Error interrupted_by(int signal) {
  return {"", "interrupted by " + signal_name(signal), "no rank was started", "", kSignalBase + signal};
}

}  // namespace dlaunch::dialback
