// Ends waits that have no deadline of their own (libssh's, an ssh-agent's): shuts a socket down when its time is over,
// or when everything ends. One thread for all sockets, started with the first. Owned by the transport.
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

  /// Watches one socket for as long as the guard lives. For one thread; the watchdog may end before it.
  class Guard {
   public:
    Guard(Guard&&) = default;
    ~Guard();
    /// Sets the deadline of the socket, for each phase anew.
    void expires_at(Clock::time_point deadline);
    /// The watchdog's own descriptor of the socket, to poll.
    int fd() const;
    /// Whether the deadline passed and the socket was shut down.
    bool expired() const;
    /// Whether everything ends.
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
  /// Returns 0 or an errno. To be called before anything is watched; further calls do nothing.
  int start();

  /// Watches the socket behind this descriptor, by a descriptor of its own.
  Guard watch(int fd);
  /// Shuts down every socket, and each that is watched later.
  void end_all();
  /// A descriptor that becomes readable when everything ends; it lives as long as any guard.
  std::shared_ptr<const sys::Fd> ended() const;

 private:
  std::shared_ptr<Guard::Shared> shared_;
  sys::Thread thread_;
};

}  // namespace dlaunch::transport::ssh
