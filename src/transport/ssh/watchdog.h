// Ends waits that have no deadline of their own (libssh's, an agent's): shuts a socket down when its time is over, or
// when all is to end. One thread for all sockets, started with the first. Owned by the transport.
#pragma once

#include <chrono>
#include <memory>

#include "base/time.h"
#include "sys/fd.h"
#include "sys/thread.h"

namespace dlaunch::transport::ssh {

class Watchdog {
 public:
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  /// Watches one socket for as long as it lives. Its thread's own; the watchdog may end before it.
  class Guard {
   public:
    Guard(Guard&&) = default;
    ~Guard();
    /// The time from now that the socket has. Given anew for each phase.
    void expires_at(Clock::time_point deadline);
    /// The watchdog's own descriptor of the socket, to poll.
    int fd() const;
    /// Its time was over and the socket was shut down.
    bool expired() const;
    /// Everything is to end.
    bool ended() const;

   private:
    friend class Watchdog;
    struct Entry;
    struct Shared;
    Guard(std::shared_ptr<Shared> shared, std::shared_ptr<Entry> entry);
    std::shared_ptr<Shared> shared_;
    std::shared_ptr<Entry> entry_;
  };

  Watchdog();
  ~Watchdog();
  /// 0, or an errno. Before anything is watched; once is enough.
  int start();

  /// Watches the socket behind this descriptor, by a descriptor of its own.
  Guard watch(int fd);
  /// Shuts every socket down, and each that comes later.
  void end_all();
  /// A descriptor to poll, which lives as long as any guard: readable once all is to end.
  std::shared_ptr<const sys::Fd> ended() const;

 private:
  std::shared_ptr<Guard::Shared> shared_;
  sys::Thread thread_;
};

}  // namespace dlaunch::transport::ssh
