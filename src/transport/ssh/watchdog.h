// Ends waits without their own deadline (in libssh or for an ssh-agent): shuts a socket down at its deadline, or if all
// connections must end. One thread for all sockets. Owned by the transport; thread-safe.
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

  /// Watches one socket for the lifetime of the guard. For one thread; the watchdog may be destroyed first.
  class Guard {
   public:
    Guard(Guard&&) = default;
    ~Guard();
    /// Sets the deadline of the socket; each phase sets a new deadline.
    void expires_at(Clock::time_point deadline);
    /// The watchdog's own descriptor of the socket, for poll().
    int fd() const;
    /// True if the deadline passed and the socket was shut down.
    bool expired() const;
    /// True if all connections must end.
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
  /// Starts the thread; returns 0 or an errno. Call before the first watch(); further calls have no effect.
  int start();

  /// Watches the socket of this descriptor, through a duplicate.
  Guard watch(int fd);
  /// Shuts down all sockets, including sockets watched later.
  void end_all();
  /// A descriptor that becomes readable if all connections must end; valid as long as any guard.
  std::shared_ptr<const sys::Fd> ended() const;

 private:
  std::shared_ptr<Guard::Shared> shared_;
  sys::Thread thread_;
};

}  // namespace dlaunch::transport::ssh
