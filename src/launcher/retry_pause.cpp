#include "launcher/retry_pause.h"

#include <algorithm>
#include <random>

namespace dlaunch::launcher {
namespace {

using Retry = transport::Disconnect::Retry;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{250};  // doubled at each attempt, and randomly varied by half
constexpr milliseconds kLongestPause{4000};
constexpr milliseconds kBootPause{1000};  // between attempts at a host that has not booted yet

}  // namespace

std::optional<milliseconds> pause_before_next_try(const HostFailure& loss, int tries, Time wait_until) {
  milliseconds pause = kBootPause;
  if (loss.retry == Retry::soon && tries < kTries) {
    pause = std::min(kLongestPause, kFirstPause * (1 << (tries - 1)));
  } else if (loss.retry == Retry::never || Clock::now() + pause > wait_until) {
    return std::nullopt;
  }
  std::uniform_int_distribution<milliseconds::rep> around(pause.count() / 2, pause.count() * 3 / 2);
  std::random_device chance;
  return milliseconds(around(chance));
}

}  // namespace dlaunch::launcher
