// Writes frames to one rank's stdin. Grants credit as the rank reads, so the queue stays within the first grant. Owned
// by a rank of Ranks, or by WorkdirSetup; the loop must outlive this object.
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
    std::function<void(std::uint32_t bytes)> took;  ///< number of bytes to grant
    std::function<void()> closed;                   ///< the rank closed its end
  };
  /// `terminal`: the end of input is the end-of-file character, and the descriptor stays open until the rank ends.
  StdinFeeder(asio::io_context& io, sys::Fd fd, bool terminal, Handlers handlers);
  ~StdinFeeder();

  void push(const std::string& bytes, bool eof);
  /// The number of bytes that the rank has not read.
  size_t waiting() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace dlaunch::agent
