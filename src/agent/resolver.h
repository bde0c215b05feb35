// Resolves names on this host. A static program has no name service of its own (glibc would load its plug-ins at run
// time, for a version that need not be the host's), so `getent ahosts NAME` runs for each, a few at a time. Owned by
// the HostInspector; the loop must outlive it.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/process_spawner.h"

namespace dlaunch::agent {

/// The addresses in what `getent ahosts` prints, each once, separated by blanks.
std::string addresses_in(std::string_view printed);

class Resolver {
 public:
  static constexpr size_t kAtOnce = 8;
  static constexpr std::chrono::seconds kPatience{10};  ///< for all names together

  struct Answer {
    std::vector<std::string> addresses;  ///< of each name; empty: it does not resolve
    std::string trouble;                 ///< why some names could not be looked up; empty: all were
  };
  using Done = std::function<void(Answer answer)>;

  Resolver(asio::io_context& io, const rlimit& open_files);
  ~Resolver();

  /// `done` is called once, from the loop. A request that is still running is dropped.
  void resolve(std::vector<std::string> names, Done done);

 private:
  struct Lookup;
  void start_next();
  void start(size_t name);
  void read(Lookup& lookup);
  void finish(std::string trouble);

  asio::io_context& io_;
  const rlimit open_files_;
  ProcessSpawner spawner_;
  std::string getent_;
  asio::steady_timer deadline_;
  std::vector<std::string> names_;
  Done done_;
  Answer answer_;
  size_t next_ = 0;
  std::vector<std::unique_ptr<Lookup>> lookups_;
};

}  // namespace dlaunch::agent
