// The addresses of a name. getaddrinfo cannot be interrupted, so it runs in a thread of its own, which is left behind
// when nobody waits any more.
#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <string>

#include "sys/fd.h"

namespace dlaunch::sys {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// What is asked for. A value.
struct Name {
  std::string name;
  int port = 0;  ///< to be put into the addresses
  int family = AF_UNSPEC;
  int flags = 0;  ///< getaddrinfo's
};

struct LookedUp {
  Addresses addresses;  ///< none: see `error`
  int error = 0;        ///< EAI_…, getaddrinfo's
  std::string why;
};

/// Does not wait, for it accepts numeric addresses only.
LookedUp look_up_numeric(const Name& name);

class Lookup {
 public:
  /// Asks at once. Where no thread can be had, the answer is that error.
  explicit Lookup(Name name);
  Lookup(Lookup&&) = default;
  Lookup& operator=(Lookup&&) = default;

  /// Readable once there is an answer.
  const Fd& answered() const { return answered_; }
  bool is_answered() const;
  /// Takes the answer, once it is there. To be called once.
  LookedUp take();

 private:
  struct Question;
  Fd answered_;
  std::shared_ptr<Question> question_;
};

/// Returns when the descriptor is readable, or at the deadline.
void wait_readable(const Fd& fd, std::chrono::steady_clock::time_point deadline);

}  // namespace dlaunch::sys
