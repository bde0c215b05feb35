// Collects facts about every host: opens missing links, sends QueryHost and gathers HostInfo, then, if requested, sends
// RunCommands and gathers CommandResults. Queries all hosts in parallel; the links' own deadlines bound each wait. A
// local object of HostSession::query(). One thread; all constructor arguments must outlive this object. Afterwards the
// hosts stay open for another query or for a Launcher.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/lifetime.h"
#include "dlaunch/host.h"
#include "launcher/hosts.h"
#include "link/signals.h"
#include "wire/message.h"

namespace dlaunch::launcher {

/// The facts known about one host. A value.
struct QueriedHost {
  std::optional<wire::Hello> hello;             ///< nullopt: not connected (yet)
  std::optional<wire::HostInfo> facts;          ///< nullopt: not connected, not queried, or no answer
  std::optional<wire::CommandResults> results;  ///< nullopt: as for `facts`
  std::optional<HostFailure> loss;              ///< why the host is unusable, or was lost
  std::int64_t clock_offset_ns = 0;             ///< the host's clock minus the local clock
  std::int64_t clock_error_ns = 0;              ///< the uncertainty: half the round trip
};

class HostQuery {
 public:
  /// The query for a host; nullopt: only connect.
  using Question = std::function<std::optional<wire::QueryHost>(int host)>;
  /// The commands to run on a host after its HostInfo. May be empty.
  using Commands = std::function<std::optional<wire::RunCommands>(int host, const QueriedHost& known)>;
  /// Called every kProgressTick with the names of hosts that have not answered. May be empty.
  using Progress = std::function<void(const std::vector<std::string>& missing)>;

  HostQuery(asio::io_context& io, Hosts& hosts, Question question, Progress progress = {}, Commands commands = {});
  ~HostQuery();
  HostQuery(const HostQuery&) = delete;
  HostQuery& operator=(const HostQuery&) = delete;

  struct Result {
    std::vector<QueriedHost> hosts;  ///< by index of the hosts given
    int signal = 0;                  ///< the signal that ended the query early; 0: none
  };
  Result run(const std::vector<plan::Host>& hosts);

 private:
  enum class Awaited : unsigned char { nothing, facts, results };

  void ready(int host, const wire::Hello& hello);
  void lost(int host, const HostFailure& loss);
  void received(int host, wire::Message& message);
  /// Takes an answer. Returns the protocol error, or an empty text.
  std::string take(int host, wire::Message& message);
  void learn(int host, wire::HostInfo&& facts);
  void ask(int host, wire::QueryHost query);
  void run_commands(int host);
  void answered(int host);
  void wait_signal();
  void stop_and_continue();
  void show_progress();

  asio::io_context& io_;
  Hosts& hosts_;
  const Question question_;
  const Progress progress_;
  const Commands commands_;
  link::Signals signals_;
  asio::steady_timer progress_timer_;
  Lifetime running_;  // until the end of run()
  std::vector<std::string> names_;
  std::vector<bool> settled_;
  std::vector<Awaited> awaited_;
  std::vector<std::int64_t> query_sent_ns_;
  size_t waiting_ = 0;
  Result result_;
};

}  // namespace dlaunch::launcher
