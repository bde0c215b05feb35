// Drives the passive Output from the loop: waits for its console to be writable, keeps its deadline, and tells when a
// stream that was not ready may be again. Owned by the launcher; the Output must outlive it.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <map>

#include "launcher/deadline.h"
#include "launcher/readiness.h"
#include "output/output.h"

namespace dlaunch::launcher {

class OutputDriver {
 public:
  struct Handlers {
    std::function<void()> moved;   ///< streams may be ready again
    std::function<void()> failed;  ///< a sink failed, or the reader is gone: ask output()
  };
  OutputDriver(asio::io_context& io, output::Output& output)
      : io_(io), output_(output), deadline_(io, [this] {
          output_.tick(job::Clock::now());
          after_change();
        }) {}

  void start(Handlers handlers) { handlers_ = std::move(handlers); }
  output::Output& output() { return output_; }

  void feed(int rank, output::Stream stream, std::string_view bytes, std::int64_t wall_ns);
  void end(int rank, output::Stream stream);
  /// Nothing waits for the console to take it.
  bool flushed() const { return output_.waiting().empty(); }

 private:
  void after_change();
  void wait_writable(int fd);

  asio::io_context& io_;
  output::Output& output_;
  Deadline deadline_;
  struct Console {
    Readiness readiness;
    bool waiting = false;
  };
  std::map<int, Console> consoles_;  // by the fd that Output knows
  Handlers handlers_;
  bool changing_ = false;
};

}  // namespace dlaunch::launcher
