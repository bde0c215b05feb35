#include "launcher/launcher.h"

#include <spdlog/logger.h>

#include <algorithm>
#include <asio/post.hpp>
#include <csignal>
#include <utility>

#include "base/end_signals.h"
#include "base/shared_texts.h"
#include "launcher/components.h"
#include "launcher/frames.h"
#include "link/heartbeat.h"
#include "sys/descendants.h"
#include "sys/process_state.h"

namespace dlaunch::launcher {
namespace {

constexpr Duration kHurried = Duration(kHurriedFilesWait) / 2;  // of each await()

}  // namespace

Launcher::Launcher(asio::io_context& io, const Parts& parts)
    : io_(io),
      parts_(parts),
      facts_(rank_facts(parts.plan)),
      job_(parts.options.policy, hosts_of_ranks(parts.plan), host_names(parts.plan), Clock::now()),
      output_(io, {parts.plan, facts_, parts.options, parts.output, parts.hosts, job_, parts.log,
                   [this](int number) { drained(number); }, [this](const job::Event& event) { happened(event); }}),
      deadline_(io, [this] { time_passed(); }),
      tick_timer_(io),
      order_(parts.plan),
      programs_(parts.plan, parts.options),
      context_{io,
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
      components_(make_components(context_)) {
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
  if (stopped && outcome.detail.empty()) outcome.detail = waits_for();
  if (!outcome.may_restart) parts_.hosts.close();  // else the agents would wait for the launcher
  output_.complete(outcome);
  return outcome;
}

void Launcher::await(const std::function<int()>& step, Duration longest) {
  await_until_ = Clock::now() + (hurried_ ? std::min(longest, kHurried) : longest);
  for (int fd = step(); fd >= 0; fd = step()) {
    bool is_readable = false;
    Readiness readiness(io_, fd, Readiness::For::reading);
    readiness.wait([&] { is_readable = true; });
    while (!is_readable) {
      if (Clock::now() >= *await_until_) return await_until_.reset();
      io_.restart();
      io_.run_one_until(*await_until_);
    }
  }
  await_until_.reset();
}

const job::Outcome& Launcher::settle() {
  constexpr int kMost = 10'000;  // agents may send without a pause
  int handlers = 0;
  do {
    io_.restart();  // a handler may have stopped the loop before the others ran
  } while (io_.poll_one() > 0 && ++handlers < kMost);
  io_.restart();
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
  for (const plan::PlannedHost& planned : parts_.plan.hosts) hosts.push_back(planned.host);
  hosts.insert(hosts.end(), parts_.plan.replacements.begin(), parts_.plan.replacements.end());
  parts_.hosts.open(hosts);
}

/// The links of Plan::replacements follow the links of the plan's hosts. A job with replacements adds no other hosts.
bool Launcher::is_spare(int host) const {
  return !parts_.plan.replacements.empty() && host >= static_cast<int>(parts_.plan.hosts.size());
}

void Launcher::reached(int host) {
  if (is_spare(host)) return;
  check_programs(host);
  if (parts_.round.files_first && files_ != Files::begun) {
    held_hosts_.push_back(host);
    return begin_files_first();
  }
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
    const size_t index = static_cast<size_t>(host) - parts_.plan.hosts.size();
    return parts_.log.warn("lost spare host {}: {}", parts_.plan.replacements.at(index).name, loss.why);
  }
  for (const auto& component : components_) component->host_lost(host, loss);
  happened(job::HostLost{host, loss.why, loss.hint, parts_.hosts.gone_by(host)});
  for (const int rank : parts_.plan.host(host).ranks) output_.abandon(rank);
  for (const auto& component : components_) component->host_gone(host);
  programs_.forget(host);
  programs_checked();
}

/// The ranks of a host that may be replaced must end before their replacements start. A lost host without another login
/// (--same-line) is not swept, so its agent must not wait for long.
std::uint32_t Launcher::lease_ms(int host) const {
  const auto first = static_cast<int>(parts_.plan.hosts.size());
  bool replaceable = parts_.options.policy.shrink;
  for (int spare = first; spare < first + static_cast<int>(parts_.plan.replacements.size()); ++spare) {
    replaceable = replaceable || !parts_.hosts.is_lost(spare);
  }
  if (parts_.hosts.reconnects(host) && (!parts_.round.may_follow || !replaceable)) return 0;
  return static_cast<std::uint32_t>(parts_.options.heartbeat.count() * link::Lease::kBeats);
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
  parts_.log.debug("rank {} started, pid {}", parts_.plan.worlds.name(rank), started.pid);
  const int all = ranks_at_start(parts_.plan);
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
  parts_.log.debug("rank {} {}", parts_.plan.worlds.name(rank), status.describe());
  output_.ended(rank);
  ended(host, rank, status, end.time_ns, end.after_signal);
}

void Launcher::ended(int host, int rank, const ExitStatus& status, std::int64_t time_ns, bool after_signal) {
  for (const auto& component : components_) component->rank_ended(rank);
  happened(job::RankEnded{rank, status, time_ns, parts_.hosts.clock(host), after_signal});
}

void Launcher::on(int host, wire::HostInfo& programs, std::deque<sys::Fd>&) {
  context_.broken(host, programs_.take(host, programs));
  programs_checked();
}

void Launcher::drained(int number) {
  for (const auto& component : components_) component->drained(number);
  if (number < static_cast<int>(parts_.plan.ranks.size())) happened(job::RankDrained{number});
}

// ---- events and actions of the job ----
void Launcher::perform(const job::Actions& actions) {
  output_.job_decides();
  for (const job::Action& action : actions) {
    if (std::holds_alternative<job::PrepareFiles>(action)) prepare_files();
    if (const auto* start = std::get_if<job::StartRanks>(&action)) start_ranks(start->host);
    if (const auto* start = std::get_if<job::StartWorld>(&action)) {
      order_.start_requested(start->host, newest_ranks(parts_.plan, start->host));
    }
    output_.perform(action);
    for (const auto& component : components_) component->perform(action);
  }
  deadline_.set(job_.deadline());
  output_.job_decided();
}

void Launcher::check_programs(int host) {
  const std::vector<wire::QueryHost> questions = programs_.ask(host);
  if (!questions.empty()) happened(job::HostReached{host});
  for (const wire::QueryHost& each : questions) parts_.hosts.send(host, each);
}

void Launcher::programs_checked() {
  if (files_asked_ && files_ == Files::unchanged) return begin_files();
  if (parts_.round.files_first && files_ != Files::begun) begin_files_first();
}

void Launcher::prepare_files() {
  files_asked_ = true;
  if (files_ == Files::unchanged) return begin_files();
  if (files_ == Files::begun) fill_directories();
}

/// With Round::files_first: begins when all hosts have answered. After the loss of a host with ranks, the ranks do not
/// start: the held hosts then prepare nothing.
void Launcher::begin_files_first() {
  if (job_.phase() != job::Phase::starting) return;
  if (!job_.outcome().lost_hosts.empty()) {
    for (const int host : std::exchange(held_hosts_, {})) {
      if (!parts_.hosts.is_lost(host)) ready(host);
    }
    return;
  }
  std::ptrdiff_t left = std::ranges::count_if(held_hosts_, [this](int host) { return !parts_.hosts.is_lost(host); });
  for (int host = 0; host < static_cast<int>(parts_.plan.hosts.size()); ++host)
    left -= parts_.hosts.is_lost(host) ? 0 : 1;
  if (files_ == Files::unchanged && left == 0) begin_files();
}

/// Called again after each answer of a host.
void Launcher::begin_files() {
  if (programs_.waits() || job_.phase() != job::Phase::starting) return;
  if (files_asked_ && !job_.outcome().lost_hosts.empty()) return happened(job::FilesReady{});
  if (auto refused = programs_.refused(); !refused.empty()) return happened(job::StartRefused{std::move(refused)});
  files_ = Files::beginning;
  output_.begin([this](const Result<void>& begun) {
    if (!begun) return files_begun(begun);
    files_ = Files::others;
    parts_.round.begin_others(lifetime_.guard([this](const Result<void>& others) { files_begun(others); }));
  });
}

void Launcher::files_begun(const Result<void>& result) {
  files_ = Files::begun;
  if (job_.phase() != job::Phase::starting) return;
  if (!result) {
    const Error& error = result.error();
    const int code = parts_.plan.round > 0 ? kExitOutput : error.exit_code;  // ranks ran before
    const std::string where = error.where.empty() ? "" : error.where + ": ";
    return happened(job::OutputFailed{where + what_and_why(error) + '\n' + error.hint, code});
  }
  const bool asked = files_asked_;  // else the job may ask while the hosts are reached
  for (const int host : std::exchange(held_hosts_, {})) {
    if (!parts_.hosts.is_lost(host)) reached(host);
  }
  if (asked) fill_directories();
}

void Launcher::fill_directories() {
  if (!job_.outcome().lost_hosts.empty()) return happened(job::FilesReady{});  // hosts empty no directory
  for (const auto& component : components_) component->files_begun();
}

/// The step of the disk for which the start of the ranks waits; empty: none.
std::string Launcher::waits_for() const {
  const std::string step = files_ == Files::others      ? parts_.round.others_step()
                           : files_ == Files::beginning ? output_.step()
                                                        : "";
  return step.empty() ? "" : "the start of the ranks waited for the disk: " + step;
}

void Launcher::start_ranks(int host) {
  parts_.ports.release();
  order_.start_requested(host);
  std::vector<wire::Message> shared;
  for (const auto& component : components_) {
    for (wire::Message& frame : component->shared_frames(host)) shared.push_back(std::move(frame));
  }
  for (wire::Message& frame : start_frames(parts_.plan, host, parts_.options, facts_, std::move(shared))) {
    if (auto* layout = std::get_if<wire::Layout>(&frame)) layout->lease_ms = lease_ms(host);
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
  if (signal == SIGCHLD) {  // as PID 1 of a container, dlaunch also receives other processes' orphans
    sys::reap_all();
    return;
  }
  parts_.log.info("received {}", signal_name(signal));
  for (const auto& component : components_) {
    if (component->on_signal(signal)) return;
  }
  // The second signal: from now on dlaunch waits neither for a reader nor for a disk.
  if (job_.is_repeated(signal)) {
    output_.hurry();
    hurried_ = await_until_.has_value();
    if (hurried_) await_until_ = std::min(*await_until_, Clock::now() + kHurried);
  }
  happened(job::UserSignal{signal, sys::SignalSenders::last(signal)});
  output_.stop_when_taken();
}

}  // namespace dlaunch::launcher
