// Asks every host what it has: opens links where none is open, sends QueryHost and gathers HostInfo, then, where
// wanted, RunCommands and CommandResults. All hosts side by side; the links' own deadlines bound each wait. One thread;
// everything given must outlive it. Afterwards the hosts are still open, for another query, for a Launcher, or to be
// closed.
#pragma once

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/host.h"
#include "launcher/hosts.h"
#include "wire/message.h"

namespace dlaunch::launcher {

/// What is known of one host. A value.
struct QueriedHost {
  std::optional<wire::Hello> hello;          ///< none: it was not reached, or not yet
  std::optional<wire::HostInfo> facts;       ///< none: it was not reached, was not asked, or did not answer
  std::optional<wire::CommandResults> told;  ///< none: as for `facts`
  std::optional<HostFailure> loss;           ///< why it cannot be used, or no longer
  std::int64_t clock_offset_ns = 0;          ///< its clock minus ours
  std::int64_t clock_error_ns = 0;           ///< the uncertainty: half the round trip
};

class HostQuery {
 public:
  /// What to ask a host; nullopt: it is only connected to.
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
    int signal = 0;                  ///< the one that ended it before all had answered; 0: none
  };
  Result run(const std::vector<plan::Host>& hosts);

 private:
  enum class Awaited : unsigned char { nothing, facts, told };

  void ready(int host, const wire::Hello& hello);
  void lost(int host, const HostFailure& loss);
  void received(int host, wire::Message& message);
  /// Takes an answer. Returns how the host breaks the order, or an empty text.
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
  asio::signal_set signals_;
  asio::steady_timer progress_timer_;
  std::shared_ptr<void> running_ = std::make_shared<char>();  // handlers still queued when it has ended must not run
  std::vector<std::string> names_;
  std::vector<bool> settled_;
  std::vector<Awaited> awaited_;
  std::vector<std::int64_t> asked_ns_;
  size_t waiting_ = 0;
  Result result_;
};

/// Gives a host whose slots nobody gave what was found there: its devices with a slot for each, else one for each CPU.
void fill_slots(plan::Host& host, const wire::HostInfo& facts);

/// The devices' kind as a HostInfo carries it; none for what this version does not know.
plan::DeviceKind device_kind(const wire::HostInfo& facts);

}  // namespace dlaunch::launcher
