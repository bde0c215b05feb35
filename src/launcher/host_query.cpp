#include "launcher/host_query.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/end_signals.h"
#include "base/index_cast.h"
#include "launcher/waits.h"
#include "sys/clock.h"
#include "sys/inherited.h"

namespace dlaunch::launcher {
namespace {

/// Returns the protocol error in an answer to `asked`, or an empty text.
std::string wrong_with(const wire::HostInfo& facts, const wire::QueryHost& asked) {
  const size_t programs = asked.programs.size();
  const bool fit = facts.wdir_errors.size() <= asked.wdirs.size() && facts.programs.size() <= programs &&
                   facts.missing.size() <= programs && facts.program_errors.size() <= programs &&
                   facts.addresses.size() <= asked.names.size() && facts.scripts.size() <= asked.scripts.size() &&
                   facts.script_errors.size() <= asked.scripts.size();
  if (!fit) return "protocol error: unexpected reply from the agent";
  const auto above = [](size_t number, size_t most, const char* what) {
    return "protocol error: the agent reports " + std::to_string(number) + what + ": expected at most " +
           std::to_string(most);
  };
  if (facts.cpus > wire::kMostCpus) return above(facts.cpus, wire::kMostCpus, " CPUs");
  if (facts.devices.size() <= wire::kMostDevices) return {};
  return above(facts.devices.size(), wire::kMostDevices, " devices");
}

}  // namespace

HostQuery::HostQuery(asio::io_context& io, Hosts& hosts, Question question, Progress progress, Commands commands)
    : io_(io),
      hosts_(hosts),
      question_(std::move(question)),
      progress_(std::move(progress)),
      commands_(std::move(commands)),
      signals_(io),
      progress_timer_(io) {
  for (const int signal : kEndSignals) {
    if (!sys::is_kept(signal)) signals_.add(signal);
  }
  if (!sys::is_kept(SIGTSTP)) signals_.add(SIGTSTP);
}

HostQuery::~HostQuery() { hosts_.listen({}); }

HostQuery::Result HostQuery::run(const std::vector<plan::Host>& hosts) {
  for (const plan::Host& host : hosts) names_.push_back(host.name);
  result_.hosts.resize(hosts.size());
  settled_.resize(hosts.size());
  query_sent_ns_.resize(hosts.size());
  awaited_.resize(hosts.size());
  waiting_ = hosts.size();
  wait_signal();
  hosts_.listen({[this](int host, const wire::Hello& hello) { ready(host, hello); },
                 [this](int host, const HostFailure& loss) { lost(host, loss); },
                 [this](int host, wire::Message&& message, const std::deque<sys::Fd>&) { received(host, message); },
                 {}});
  if (hosts_.empty()) hosts_.open(hosts);
  show_progress();
  if (waiting_ > 0) io_.run();
  running_.end();
  signals_.cancel();
  progress_timer_.cancel();
  io_.restart();  // run() may have stopped the loop; the next user needs a fresh loop
  return std::move(result_);
}

void HostQuery::ready(int host, const wire::Hello& hello) {
  at_index(result_.hosts, host).hello = hello;
  auto question = question_(host);
  if (!question) return run_commands(host);
  question->names.clear();  // slow name resolution would distort the measured round trip
  ask(host, *std::move(question));
}

void HostQuery::ask(int host, wire::QueryHost query) {
  at_index(query_sent_ns_, host) = sys::wall_ns();
  at_index(awaited_, host) = Awaited::facts;
  hosts_.send(host, query);
}

void HostQuery::lost(int host, const HostFailure& loss) {
  at_index(result_.hosts, host).loss = loss;
  answered(host);
}

void HostQuery::received(int host, wire::Message& message) {
  if (at_index(settled_, host)) return;
  if (const std::string why = take(host, message); !why.empty()) hosts_.lose(host, {why});
}

std::string HostQuery::take(int host, wire::Message& message) {
  Awaited& awaited = at_index(awaited_, host);
  if (std::holds_alternative<wire::Ping>(message) || std::holds_alternative<wire::Log>(message)) return {};
  if (auto* results = std::get_if<wire::CommandResults>(&message); results && awaited == Awaited::results) {
    at_index(result_.hosts, host).results = std::move(*results);
    answered(host);
    return {};
  }
  auto* facts = std::get_if<wire::HostInfo>(&message);
  if (!facts || std::exchange(awaited, Awaited::nothing) != Awaited::facts)
    return "protocol error: unexpected message from the agent";
  std::string why = wrong_with(*facts, question_(host).value_or(wire::QueryHost{}));
  if (why.empty()) learn(host, std::move(*facts));
  return why;
}

void HostQuery::learn(int host, wire::HostInfo&& facts) {
  QueriedHost& known = at_index(result_.hosts, host);
  const bool first = !known.facts;
  known.facts = std::move(facts);
  if (!first) return run_commands(host);
  const std::int64_t sent = at_index(query_sent_ns_, host);
  const std::int64_t half = (sys::wall_ns() - sent) / 2;
  known.clock_offset_ns = std::max<std::int64_t>(known.facts->time_ns, 0) - (sent + half);
  known.clock_error_ns = half;
  auto question = question_(host);
  if (!question || question->names.empty()) return run_commands(host);
  ask(host, *std::move(question));
}

void HostQuery::run_commands(int host) {
  const auto request = commands_ ? commands_(host, at_index(result_.hosts, host)) : std::nullopt;
  if (!request) return answered(host);
  at_index(awaited_, host) = Awaited::results;
  hosts_.send(host, *request);
}

void HostQuery::answered(int host) {
  if (at_index(settled_, host)) return;
  at_index(settled_, host) = true;
  if (--waiting_ == 0) io_.stop();
}

void HostQuery::wait_signal() {
  signals_.next(running_.guard([this](int signal) {
    if (signal != SIGTSTP) {
      result_.signal = signal;
      return io_.stop();
    }
    stop_and_continue();
    wait_signal();
  }));
}

/// Ctrl-Z: announces the pause, so that agents do not take the launcher for dead.
void HostQuery::stop_and_continue() {
  hosts_.pause();
  ::raise(SIGSTOP);
  hosts_.ping_all();
}

void HostQuery::show_progress() {
  if (!progress_) return;
  std::vector<std::string> missing;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (!settled_[i]) missing.push_back(names_[i]);
  }
  progress_(missing);
  progress_timer_.expires_after(kProgressTick);
  progress_timer_.async_wait(running_.guard([this](asio::error_code error) {
    if (!error) show_progress();
  }));
}

}  // namespace dlaunch::launcher
