// Calls at a time that may move or go away. Owned by the launcher's parts; the loop must outlive it.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <utility>

#include "base/time.h"

namespace dlaunch::launcher {

class Deadline {
 public:
  /// `passed` is to set the next one, should there be one.
  Deadline(asio::io_context& io, std::function<void()> passed) : timer_(io), passed_(std::move(passed)) {}

  void set(std::optional<Time> at) {
    if (at == at_) return;
    at_ = at;
    if (!at) {
      timer_.cancel();
      return;
    }
    timer_.expires_at(*at);
    timer_.async_wait([this](asio::error_code error) {
      if (error) return;
      at_.reset();
      passed_();
    });
  }

 private:
  asio::steady_timer timer_;
  const std::function<void()> passed_;
  std::optional<Time> at_;
};

}  // namespace dlaunch::launcher
