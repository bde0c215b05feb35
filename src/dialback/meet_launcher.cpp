#include "dialback/meet_launcher.h"

#include <algorithm>
#include <utility>

#include "net/connect.h"

namespace dlaunch::dialback {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kConnectLimit{5000};
constexpr milliseconds kFirstPause{100};  // doubled after each attempt
constexpr milliseconds kLongestPause{2000};

/// One attempt.
AttemptResult<LauncherConnection> meet_at(const Endpoint& where, const Secret& key, const Statement& self,
                                          milliseconds limit, int ended) {
  auto connected = net::connect_to({.name = where.host, .port = where.port}, limit, ended);
  if (!connected) {
    return tl::unexpected<AttemptFailure>(
        {{"", std::move(connected.error().what), std::move(connected.error().why), "", kExitHostLost}, false});
  }
  const std::string address = to_string({connected->address, where.port});
  return introduce(std::move(connected->socket), address, key, self, ended);
}

}  // namespace

Result<LauncherConnection> meet_launcher(const Endpoint& where, const Secret& key, const Statement& self, Time deadline,
                                         EndSignals& signals, const Messages& messages) {
  std::string reported;
  for (milliseconds pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    const milliseconds left(std::max(1, milliseconds_until(deadline)));
    auto connection = meet_at(where, key, self, std::min(kConnectLimit, left), signals.fd());
    if (connection) {
      messages.info("connected to node 0 at " + connection->address);
      return *std::move(connection);
    }
    if (const auto signal = signals.came()) return fail(interrupted_by(*signal));
    Error error = std::move(connection.error().error);
    if (error.where.empty()) error.where = to_string(where);
    if (connection.error().fatal) return fail(std::move(error));
    if (Clock::now() + pause >= deadline) {
      error.what = "timed out waiting for node 0: " + error.what;
      error.hint = "start the same command on node 0; check the connection to " + to_string(where);
      return fail(std::move(error));
    }
    const std::string text = error.what + (error.why.empty() ? "" : ": " + error.why);
    if (std::exchange(reported, text) != text) messages.info(to_string(where) + ": " + text + "; trying again");
    readable(-1, signals.fd(), Clock::now() + pause);
  }
}

}  // namespace dlaunch::dialback
