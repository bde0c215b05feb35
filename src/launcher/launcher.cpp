#include "launcher/launcher.h"

#include <spdlog/logger.h>

#include <algorithm>
#include <asio/post.hpp>
#include <csignal>
#include <utility>

#include "launcher/frames.h"
#include "sys/process_state.h"

namespace dlaunch::launcher {

Launcher::Launcher(asio::io_context& io, const Parts& parts)
    : io_(io),
      parts_(parts),
      facts_(rank_facts(parts.plan.now())),
      job_(parts.options.policy, hosts_of_ranks(parts.plan.now()), host_names(parts.plan.now()), Clock::now()),
      output_(io, {parts.plan.now(), facts_, parts.options, parts.output, parts.hosts, job_, parts.log,
                   [this](int number) { drained(number); }, [this](const job::Event& event) { happened(event); }}),
      deadline_(io, [this] { time_passed(); }),
      tick_timer_(io),
      order_(parts.plan.now()),
      context_{io,
               parts.plan.now(),
               parts.plan,
               facts_,
               parts.options,
               parts.hosts,
               output_,
               job_,
               parts.log,
               parts.error_texts,
               [this](const job::Event& event) { happened(event); },
               [this](int host) { ready(host); },
               [this](int host, const HostFailure& loss) { lost(host, loss); },
               [this](int signal) { asio::post(io_, lifetime_.guard([this, signal] { on_signal(signal); })); }},
      files_(context_, parts_.round,
             {[this](int host) { reached(host); },
              [this] { std::ranges::for_each(components_, [](const auto& each) { each->files_begun(); }); }}),
      components_(parts_.make_components(context_)),
      wait_(io) {
  for (const auto& component : components_) component->prepare(job_);
  if (parts.round.may_follow) job_.allow_restart();
  job_.expect_files();
  if (parts.round.start_at) job_.start_not_before(*parts.round.start_at);
}

Launcher::~Launcher() {
  parts_.hosts.listen({});
  parts_.signals.cancel();
}

job::Outcome Launcher::run() {
  wait_signal();
  output_.start();
  listen();
  deadline_.set(job_.deadline());
  tick();
  io_.run();
  job::Outcome outcome = job_.outcome();
  for (const auto& component : components_) component->ended(outcome);
  using job::Cause;
  const bool stopped =
      outcome.cause == Cause::interrupted || outcome.cause == Cause::timeout || outcome.cause == Cause::preempted;
  if (stopped && outcome.detail.empty()) outcome.detail = files_.waits_for();
  if (!outcome.may_restart) parts_.hosts.close();  // else the agents would wait for the launcher
  output_.complete(outcome);
  return outcome;
}

const job::Outcome& Launcher::settle() {
  run_ready_handlers(io_);
  return job_.outcome();
}

// ---- hosts ----
void Launcher::listen() {
  parts_.hosts.listen({.ready = [this](int host, const wire::Hello&) { reached(host); },
                       .lost = [this](int host, const HostFailure& loss) { lost(host, loss); },
                       .message =
                           [this](int host, wire::Message&& message, std::deque<sys::Fd>& fds) {
                             if (!is_spare(host)) received(host, std::move(message), fds);
                           },
                       .report_duplicates = true});
  if (!parts_.hosts.empty()) return;
  std::vector<plan::Host> hosts;
  for (const plan::PlannedHost& planned : context_.plan.hosts) hosts.push_back(planned.host);
  hosts.insert(hosts.end(), context_.plan.replacements.begin(), context_.plan.replacements.end());
  parts_.hosts.open(hosts);
}

/// The links of Plan::replacements follow the links of the plan's hosts. A job with replacements adds no other hosts.
bool Launcher::is_spare(int host) const {
  return !context_.plan.replacements.empty() && host >= static_cast<int>(context_.plan.hosts.size());
}

void Launcher::reached(int host) {
  if (is_spare(host) || !files_.reached(host)) return;
  bool is_ready = true;
  for (const auto& component : components_) is_ready = component->reached(host) && is_ready;
  if (is_ready) ready(host);
}

void Launcher::ready(int host) {
  happened(job::HostReady{host});
  for (const auto& component : components_) component->host_ready(host);
}

void Launcher::lost(int host, const HostFailure& loss) {
  parts_.hosts.drop(host);
  if (is_spare(host)) {
    const size_t index = static_cast<size_t>(host) - context_.plan.hosts.size();
    return parts_.log.warn("lost spare host {}: {}", context_.plan.replacements.at(index).name, loss.why);
  }
  for (const auto& component : components_) component->host_lost(host, loss);
  happened(job::HostLost{host, loss.why, loss.hint, parts_.hosts.gone_by(host)});
  for (const int rank : context_.plan.host(host).ranks) output_.abandon(rank);
  for (const auto& component : components_) component->host_gone(host);
  files_.lost(host);
}

// ---- messages of agents ----
void Launcher::received(int host, wire::Message&& message, std::deque<sys::Fd>& fds) {
  job_.host_heard(host, Clock::now(), parts_.hosts.answered(host));
  const std::string why = std::visit([&](const auto& m) { return order_.check(host, m, job_.phase()); }, message);
  if (!why.empty()) return context_.broken(host, why);
  for (const auto& component : components_) {
    if (component->on(host, message, fds)) return;
  }
  std::visit([&](auto& m) { on(host, m, fds); }, message);
}

void Launcher::on(int host, wire::Started& started, std::deque<sys::Fd>& fds) {
  if (const std::string why = output_.opened(host, started, fds); !why.empty()) return context_.broken(host, why);
  const int rank = static_cast<int>(started.rank);
  happened(job::RankStarted{rank, static_cast<int>(started.pid), started.time_ns, folded_cpus(started)});
  parts_.output.rank_started(rank, static_cast<int>(started.pid));
  parts_.log.debug("rank {} started, pid {}", context_.plan.worlds.name(rank), started.pid);
  const int all = ranks_at_start(context_.plan);
  if (rank < all && ++started_ == all) parts_.listener.all_started(job_.outcome());
}

void Launcher::on(int host, wire::SpawnFailed& refused, std::deque<sys::Fd>&) {
  const int rank = static_cast<int>(refused.rank);
  ended(host, rank, ExitStatus(NotStarted{static_cast<int>(refused.error), refused.what}), refused.time_ns, false);
  output_.abandon(rank);
}

void Launcher::on(int host, wire::OutputData& output, std::deque<sys::Fd>&) {
  if (output.stream >= 1 && output.stream <= output::kStreams) job_.output_arrived(Clock::now());
  context_.broken(host, output_.received(output));
}

void Launcher::on(int host, wire::Ended& end, std::deque<sys::Fd>&) {
  const int rank = static_cast<int>(end.rank);
  const ExitStatus status = exit_status(end);
  parts_.log.debug("rank {} {}", context_.plan.worlds.name(rank), status.describe());
  output_.ended(rank);
  ended(host, rank, status, end.time_ns, end.after_signal);
}

void Launcher::ended(int host, int rank, const ExitStatus& status, std::int64_t time_ns, bool after_signal) {
  for (const auto& component : components_) component->rank_ended(rank);
  happened(job::RankEnded{rank, status, time_ns, parts_.hosts.clock(host), after_signal});
}

void Launcher::on(int host, wire::HostInfo& programs, std::deque<sys::Fd>&) {
  context_.broken(host, files_.take(host, programs));
}

void Launcher::drained(int number) {
  for (const auto& component : components_) component->drained(number);
  if (number < static_cast<int>(context_.plan.ranks.size())) happened(job::RankDrained{number});
}

// ---- events and actions of the job ----
void Launcher::perform(const job::Actions& actions) {
  output_.job_decides();
  for (const job::Action& action : actions) {
    if (std::holds_alternative<job::PrepareFiles>(action)) files_.prepare();
    if (const auto* start = std::get_if<job::StartRanks>(&action)) start_ranks(start->host);
    if (const auto* start = std::get_if<job::StartWorld>(&action)) {
      order_.start_requested(start->host, newest_ranks(context_.plan, start->host));
    }
    output_.perform(action);
    for (const auto& component : components_) component->perform(action);
  }
  deadline_.set(job_.deadline());
  output_.job_decided();
}

void Launcher::start_ranks(int host) {
  parts_.ports.release();
  order_.start_requested(host);
  const std::uint32_t lease = lease_ms(context_.plan, parts_.options, parts_.hosts, parts_.round.may_follow, host);
  std::vector<wire::Message> shared;
  for (const auto& component : components_) {
    for (wire::Message& frame : component->shared_frames(host)) shared.push_back(std::move(frame));
  }
  for (wire::Message& frame : start_frames(context_.plan, host, parts_.options, facts_, std::move(shared))) {
    if (auto* layout = std::get_if<wire::Layout>(&frame)) layout->lease_ms = lease;
    parts_.hosts.send(host, frame);
  }
  parts_.hosts.flush(host);  // before the next host: all environments together take much memory
}

// ---- time and signals ----
void Launcher::time_passed() {
  if (output_.reader_took()) job_.reader_took_some(Clock::now());
  perform(job_.tick(Clock::now()));
}

void Launcher::tick() {
  job::Progress progress = job_.progress();
  output_.describe(progress);
  for (const auto& component : components_) component->tick(progress);
  parts_.listener.progress(progress);
  tick_timer_.expires_after(kProgressTick);
  tick_timer_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (!error) tick();
  }));
}

void Launcher::wait_signal() {
  parts_.signals.next(lifetime_.guard([this](int signal) {
    on_signal(signal);
    wait_signal();
  }));
}

void Launcher::on_signal(int signal) {
  if (signal == SIGCHLD) return parts_.hosts.reap();
  parts_.log.info("received {}", signal_name(signal));
  for (const auto& component : components_) {
    if (component->on_signal(signal)) return;
  }
  // The second signal: from now on dlaunch waits neither for a reader nor for a disk.
  if (job_.is_repeated(signal)) {
    output_.hurry();
    wait_.hurry();
  }
  happened(job::UserSignal{signal, sys::SignalSenders::last(signal)});
  output_.stop_when_taken();
}

}  // namespace dlaunch::launcher
