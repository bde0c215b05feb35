// Waits on the loop until writers take what waits in them, and has them flushed. Loop and writers must outlive it.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <map>
#include <vector>

#include "launcher/readiness.h"
#include "output/fd_writer.h"

namespace dlaunch::launcher {

class WriteWaits {
 public:
  using Waiting = std::function<std::vector<output::FdWriter*>()>;

  /// `waiting` says which have bytes waiting, `writable` flushes one.
  WriteWaits(asio::io_context& io, Waiting waiting, std::function<void(output::FdWriter&)> writable)
      : io_(io), waiting_(std::move(waiting)), writable_(std::move(writable)) {}
  WriteWaits(const WriteWaits&) = delete;
  WriteWaits& operator=(const WriteWaits&) = delete;

  /// To be called when something may have to wait.
  void look();

 private:
  struct Wait {
    Readiness readiness;
    bool waiting = false;
  };

  asio::io_context& io_;
  const Waiting waiting_;
  const std::function<void(output::FdWriter&)> writable_;
  std::map<output::FdWriter*, Wait> waits_;
};

}  // namespace dlaunch::launcher
