// Answers the launcher's questions about this host. HostInspector answers QueryHost with HostInfo: CPUs and devices,
// and whether the job's programs and files exist. CommandRunner answers RunCommands with CommandResults. Both are owned
// by the Agent; link and loop must outlive these objects.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/children.h"
#include "agent/task.h"
#include "base/lifetime.h"
#include "link/link.h"
#include "wire/message.h"

namespace dlaunch::agent {

/// Answers RunCommands with CommandResults: runs short programs on this host, a few in parallel, and collects their
/// output. Owned by the Agent; link, loop and children must outlive this object.
class CommandRunner final : public Task {
 public:
  static constexpr size_t kAtOnce = 16;
  static constexpr size_t kLongestAnswer = 1u << 20;  ///< kept bytes of one command's output
  static constexpr size_t kMostPrinted = 3u << 20;    ///< kept bytes of all commands together; the rest is dropped

  CommandRunner(asio::io_context& io, link::Link& link, Children& children, const rlimit& open_files);
  ~CommandRunner() override;

  /// A request ends running commands of an earlier request.
  std::optional<std::string> on(wire::Message& message) override;
  void stop() override;

 private:
  struct Run;
  void ask(wire::RunCommands&& request);
  void start_next();
  void start(size_t index);
  void read(Run& run);
  void ended(const Children::End& end);
  void settle(Run& run);
  void send_results();

  asio::io_context& io_;
  link::Link& link_;
  Children& children_;
  const rlimit open_files_;
  asio::steady_timer deadline_;
  wire::RunCommands request_;
  wire::CommandResults results_;
  size_t next_ = 0;
  size_t printed_ = 0;  // bytes that all commands printed
  bool requested_ = false;
  std::vector<std::unique_ptr<Run>> runs_;
  const Lifetime lifetime_;
};

/// The addresses in the output of `getent ahosts`, without duplicates, separated by blanks.
std::string addresses_in(std::string_view printed);

/// Resolves names on this host. The agent is a static program without its own name service: glibc would load plug-ins
/// at run time, and their version may not match the host. Therefore runs `getent ahosts NAME` for each name, a few in
/// parallel. Owned by the HostInspector; the loop must outlive this object.
class Resolver {
 public:
  static constexpr size_t kAtOnce = 8;
  static constexpr std::chrono::seconds kPatience{10};  ///< for all names together

  struct Answer {
    std::vector<std::string> addresses;  ///< of each name; empty: the name does not resolve
    std::string trouble;                 ///< why some names could not be resolved; empty: no failure
  };
  using Done = std::function<void(Answer answer)>;

  Resolver(asio::io_context& io, Children& children, const rlimit& open_files);
  ~Resolver();

  /// `done` is called once, from the loop. A new request replaces a running request.
  void resolve(std::vector<std::string> names, Done done);

 private:
  struct Lookup;
  void start_next();
  void start(size_t name);
  void read(Lookup& lookup);
  void finish(std::string trouble);

  asio::io_context& io_;
  Children& children_;
  const rlimit open_files_;
  std::string getent_;
  asio::steady_timer deadline_;
  std::vector<std::string> names_;
  Done done_;
  Answer answer_;
  size_t next_ = 0;
  std::vector<std::unique_ptr<Lookup>> lookups_;
  const Lifetime lifetime_;
};

class HostInspector final : public Task {
 public:
  /// `open_files`: the ranks' limit.
  HostInspector(asio::io_context& io, link::Link& link, Children& children, const rlimit& open_files);

  std::optional<std::string> on(wire::Message& message) override;
  void stop() override { resolver_.reset(); }

 private:
  void inspect(wire::QueryHost&& query);

  asio::io_context& io_;
  link::Link& link_;
  Children& children_;
  const rlimit open_files_;
  std::optional<Resolver> resolver_;
};

}  // namespace dlaunch::agent
