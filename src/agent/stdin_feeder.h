// Carries frames into one rank's stdin. It grants as it writes, so that its queue stays within the first grant.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sys/fd.h"

namespace dlaunch::agent {

class StdinFeeder {
 public:
  struct Handlers {
    std::function<void(std::uint32_t bytes)> took;  ///< that many more may come
    std::function<void()> closed;                   ///< the rank closed its end
  };
  /// `terminal`: the end of input is the end-of-file character, and the descriptor stays open as long as the rank runs.
  StdinFeeder(asio::io_context& io, sys::Fd fd, bool terminal, Handlers handlers);
  ~StdinFeeder();

  void push(const std::string& bytes, bool eof);
  /// Bytes that the rank has not taken.
  size_t waiting() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace dlaunch::agent
