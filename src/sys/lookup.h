// Looks up the addresses of a name. getaddrinfo cannot be interrupted, and therefore runs in its own thread. The thread
// is abandoned if the caller stops waiting.
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

/// The question. A value.
struct Name {
  std::string name;
  int port = 0;  ///< put into the addresses
  int family = AF_UNSPEC;
  int flags = 0;  ///< flags of getaddrinfo
};

struct LookedUp {
  Addresses addresses;  ///< empty: see `error`
  int error = 0;        ///< EAI_… of getaddrinfo
  std::string why;
};

/// Returns at once: accepts only numeric addresses.
LookedUp look_up_numeric(const Name& name);

class Lookup {
 public:
  /// Starts the lookup. If no thread can be created, the answer is that error.
  explicit Lookup(Name name);
  Lookup(Lookup&&) = default;
  Lookup& operator=(Lookup&&) = default;

  /// Readable when the answer has arrived.
  const Fd& answered() const { return answered_; }
  bool is_answered() const;
  /// Takes the arrived answer. Call once.
  LookedUp take();

 private:
  struct Question;
  Fd answered_;
  std::shared_ptr<Question> question_;
};

/// Returns when the descriptor is readable, or at the deadline.
void wait_readable(const Fd& fd, std::chrono::steady_clock::time_point deadline);

}  // namespace dlaunch::sys
