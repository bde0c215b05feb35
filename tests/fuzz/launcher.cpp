// Sends the launcher any sequence of messages from the agents of a job's hosts. The launcher must end, use at most
// kMostMemory for them, connect only to hosts of its plan, and start ranks only as the plan requires. No program is
// executed: the agents are sockets that the fuzzer reads and writes.
//
// The first byte chooses the number of hosts, the served MPI, and the hosts that send Hello by themselves. Each message
// has a byte for its host, a byte for its type, and its fields.
#include <fcntl.h>
#include <spdlog/logger.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <asio/post.hpp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "allocated_bytes.h"
#include "launcher/frames.h"
#include "launcher/launcher.h"
#include "link/signals.h"
#include "messages.h"
#include "session/components.h"
#include "sys/io.h"
#include "wire/codec.h"

namespace {

using namespace dlaunch;
using fuzz::Input;
using fuzz::require;

constexpr size_t kMostMemory = 64u << 20;
constexpr int kRanksOfHost = 2;
constexpr int kTurns = 6;  // turns of the event loop for all effects of a message
constexpr const char* kSpare = "spare";

plan::Plan plan_of(int hosts, plan::Mpi mpi) {
  plan::Plan plan;
  plan.job_id = "job";
  plan.mpi = mpi;
  plan.apps.push_back({.argv = {"true"}, .env = {"A=1"}, .wdir = "/", .ranks = hosts * kRanksOfHost});
  for (int host = 0; host < hosts; ++host) {
    plan.hosts.emplace_back();
    plan.hosts.back().host.name = "n" + std::to_string(host);
    for (int local = 0; local < kRanksOfHost; ++local) {
      const int rank = host * kRanksOfHost + local;
      plan.hosts.back().ranks.push_back(rank);
      plan.ranks.push_back({rank, 0, host, local, {}, {}});
    }
  }
  plan.spare.emplace_back();
  plan.spare.back().name = kSpare;
  return plan;
}

/// The agents' ends of all links.
class Agents : public transport::Transport {
 public:
  explicit Agents(const plan::Plan& plan) : plan_(plan), first_ranks_(static_cast<int>(plan.ranks.size())) {}

  Result<transport::Connection> open(const plan::Host& host) override {
    const bool planned = std::ranges::any_of(plan_.hosts, [&](const auto& one) { return one.host.name == host.name; });
    require(planned || host.name == kSpare);
    auto [ours, launchers] = sys::make_socketpair();
    sys::set_nonblocking(ours.get());
    agents_.push_back({std::move(ours), wire::Decoder(wire::Sender::launcher)});
    return transport::Connection{.stream = std::move(launchers)};
  }
  void close() override {}

  size_t count() const { return agents_.size(); }

  void send(size_t number, const wire::Message& message) {
    std::string frame;
    try {
      wire::encode(message, frame);
    } catch (const std::length_error&) {  // longer than the limit of its type; `encode` rejects it
      return;
    }
    sys::Fd& link = agents_[number].link;
    if (link && ::send(link.get(), frame.data(), frame.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(frame.size())) {
      link.reset();
    }
  }

  void hang_up() {
    for (Agent& agent : agents_) agent.link.reset();
  }

  void hear_all() {
    for (size_t i = 0; i < agents_.size(); ++i) hear(static_cast<int>(i));
  }

 private:
  struct Agent {
    sys::Fd link;
    wire::Decoder decoder;
  };

  void hear(int host) {
    Agent& agent = agents_[static_cast<size_t>(host)];
    std::array<char, 4096> buffer;
    while (agent.link) {
      const ssize_t got = ::recv(agent.link.get(), buffer.data(), buffer.size(), 0);
      if (got == 0) agent.link.reset();
      if (got <= 0) return;
      agent.decoder.feed({buffer.data(), static_cast<size_t>(got)});
      for (;;) {
        auto message = agent.decoder.next();
        require(message.has_value());
        if (!*message) break;
        if (const auto* spawn = std::get_if<wire::Spawn>(&**message)) check(host, *spawn);
      }
    }
  }

  void check(int host, const wire::Spawn& spawn) const {
    const int rank = static_cast<int>(spawn.rank);
    require(spawn.rank < plan_.ranks.size() && plan_.ranks[spawn.rank].host == host);
    require(rank < first_ranks_ ? rank / kRanksOfHost == host : plan_.mpi != plan::Mpi::none);
  }

  const plan::Plan& plan_;
  const int first_ranks_;
  std::vector<Agent> agents_;
};

class Run {
 public:
  explicit Run(Input input) : input_(input), before_(allocated_bytes()) {}

  void run() {
    const std::uint8_t first = input_.byte();
    constexpr std::array kMpi{plan::Mpi::none, plan::Mpi::pmi1, plan::Mpi::pmix, plan::Mpi::automatic};
    plan::Plan plan = plan_of(1 + first % 3, kMpi[first / 4 % kMpi.size()]);
    greet_ = first / 16;
    JobOptions settings;
    settings.stdin_target.kind = plan::StdinTarget::Kind::none;
    settings.policy.grace = std::chrono::milliseconds(0);
    const sys::Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    output::StandardStreams streams({null.get(), null.get()});
    auto output = output::Output::open(settings.output, launcher::rank_facts(plan), streams);
    require(output.has_value());
    Agents agents(plan);
    spdlog::logger log("silent");
    launcher::Hosts links(io_, agents, plan.job_id, settings, log);
    sys::ReservedPorts ports;
    Listener listener;
    link::Signals signals(io_);
    plan::RoundPlan round_plan(plan);
    launcher::Launcher launcher(
        io_, {round_plan, settings, **output, links, ports, signals, listener, log, session::make_components});
    next(agents, 0);
    (void)launcher.run();
  }

 private:
  /// Sends one message every kTurns turns of the loop, and closes all links at the input's end.
  void next(Agents& agents, int turn) {
    asio::post(io_, [this, &agents, turn] {
      require(allocated_bytes() < before_ + kMostMemory);
      agents.hear_all();
      while (greeted_ < agents.count()) greet(agents);
      if (turn < kTurns || agents.count() == 0) return next(agents, turn + 1);
      if (input_.empty()) return agents.hang_up();
      const size_t host = input_.byte() % agents.count();
      agents.send(host, fuzz::any_of<wire::Message>(input_));
      next(agents, 0);
    });
  }

  void greet(Agents& agents) {
    const size_t host = greeted_++;
    if ((greet_ >> host % 4) % 2 != 0) return;  // the input may contain the Hello
    agents.send(host, wire::Hello{wire::kVersion, "n" + std::to_string(host), "x86_64", 1, 1, std::to_string(host)});
  }

  Input input_;
  const size_t before_;
  asio::io_context io_{1};
  unsigned greet_ = 0;
  size_t greeted_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  std::signal(SIGPIPE, SIG_IGN);  // as cli does
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  Run(Input(data, size)).run();
  return 0;
}
