// is_due: for the handlers of timers that are set more than once.
#pragma once

#include <asio/error_code.hpp>
#include <asio/steady_timer.hpp>

namespace dlaunch::link {

/// Whether a timer's handler still applies. Asio does not cancel a handler that already waits in the loop: it runs with
/// success, even if the timer was set to a later time since.
inline bool is_due(const asio::error_code& error, const asio::steady_timer& timer) {
  return !error && timer.expiry() <= asio::steady_timer::clock_type::now();
}

}  // namespace dlaunch::link
