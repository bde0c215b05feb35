#include "launcher/launcher.h"

#include <spdlog/logger.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "base/end_signals.h"
#include "base/index_cast.h"
#include "base/lifetime.h"
#include "launcher/checkpoint_signal_retry.h"
#include "launcher/frames.h"
#include "launcher/host_link.h"
#include "launcher/output_driver.h"
#include "launcher/progress_watch.h"
#include "launcher/rank_dir_staging.h"
#include "launcher/rank_messages.h"
#include "launcher/rank_streams.h"
#include "launcher/sidecar_process.h"
#include "launcher/stack_watch.h"
#include "launcher/stacks_server.h"
#include "launcher/stdin_source.h"
#include "launcher/sweeps.h"
#include "launcher/waits.h"
#include "launcher/wire_up.h"
#include "link/lease.h"
#include "sys/descendants.h"
#include "sys/inherited.h"
#include "sys/process_state.h"

namespace dlaunch::launcher {
namespace {

using output::Stream;
constexpr std::chrono::seconds kLastWait{1};         // for the last lines, after the job gave up on a reader
constexpr int kTicksToStacksServer = 5;              // a shorter job needs no stacks server
constexpr int kMostLogs = 1000;                      // per host
constexpr int kMostSettled = 10'000;                 // handlers between two rounds: agents may send without a pause
constexpr std::chrono::seconds kKillsBefore{2};      // time from a batch system's kill of ranks to its message
constexpr int kExitSigpipe = kSignalBase + SIGPIPE;  // as for any filter after the exit of its reader

/// The log level of an agent's message. The agent's last error also becomes the reason for the loss of its host.
spdlog::level::level_enum level_of(const wire::Log& message) {
  if (message.level == wire::Log::kWarning) return spdlog::level::warn;
  return message.level > wire::Log::kWarning ? spdlog::level::info : spdlog::level::debug;
}

}  // namespace

class Launcher::Impl {
 public:
  Impl(asio::io_context& io, Parts parts)
      : io_(io),
        parts_(parts),
        facts_(rank_facts(parts_.plan)),
        job_(parts_.options.policy, hosts_of_ranks(parts_.plan), host_names(parts_.plan), Clock::now()),
        output_(io, parts_.output),
        streams_(io, output_, static_cast<int>(facts_.size()), [this](int rank) { drained(rank); }),
        stdin_(io, STDIN_FILENO, stdin_ranks(),
               {.send =
                    [this](int rank, std::string bytes, bool eof) {
                      send_to_rank(rank, wire::Stdin{static_cast<std::uint32_t>(rank), std::move(bytes), eof});
                    },
                .failed = [this](int error) { stdin_failed(error); },
                .hung_up = [this] { log().warn("stdin ended: its terminal hung up"); }}),
        deadline_(io, [this] { time_passed(); }),
        progress_timer_(io),
        order_(parts_.plan),
        staging_(parts_.plan, parts_.options, facts_,
                 [this](int host, const wire::Message& m) { parts_.hosts.send(host, m); }),
        sidecar_(parts_.plan),
        wire_up_({parts_.plan, parts_.options, facts_, parts_.output, streams_, job_}, parts_.hosts,
                 parts_.options.pmix_program,
                 {[this](int host, const std::string& why) { host_broken(host, why); },
                  [this](int host, const HostFailure& loss) { host_lost(host, loss); },
                  [this](const job::Event& event) { happened(event); }},
                 parts_.log),
        sweeps_(io, parts_.hosts, parts_.options, [this](const job::HostSwept& swept) { happened(swept); }),
        progress_(parts_.plan, parts_.options, parts_.log),
        stack_watch_(io, {parts_.plan, parts_.options, parts_.hosts, job_, progress_, parts_.log,
                          [this](const job::Event& event) { happened(event); }}),
        questions_(io,
                   [this](bool whole, StacksServer::Answer answer) { stack_watch_.ask(whole, std::move(answer)); }) {
    job_.show_stacks_first();
    if (parts_.round.may_follow) job_.allow_restart();
    if (parts_.round.start_at) job_.start_not_before(*parts_.round.start_at);
  }

  /// Hosts and signals outlive this object and must not call its handlers any more.
  ~Impl() {
    parts_.hosts.listen({});
    parts_.signals.cancel();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  job::Outcome run() {
    wait_signal();
    output_.start({[this] { streams_.resume(); }, [this] { check_output(); }, reads_progress()});
    if (const auto& sidecar = parts_.plan.sidecar) {
      job_.expect_sidecar(sidecar->serves ? std::chrono::seconds(0) : job::kSidecarWait);
    }
    add_hosts();
    if (parts_.options.policy.timeout) output_.hurry(Clock::now() + *parts_.options.policy.timeout);
    deadline_.set(job_.deadline());
    show_progress();
    io_.run();
    job::Outcome outcome = job_.outcome();
    progress_.record(outcome.ranks);
    if (outcome.cause == job::Cause::success) progress_.succeeded();
    if (!outcome.may_restart) {
      parts_.hosts.close();  // else the agents would wait for the launcher
      await_files();
    }
    const bool unended = outcome.unread && !reader_waited_.value_or(false);
    outcome.unread = (outcome.unread && !unended) || !shown();
    outcome.unended = unended || (outcome.unended && reader_waited_.value_or(false));
    if (outcome.unread && outcome.cause == job::Cause::success) {
      outcome.cause = job::Cause::output_failed;
      outcome.detail = "not all output was read";
      outcome.exit_code = kExitOutput;
    }
    return outcome;
  }

  const std::optional<Error>& output_lost() const { return output_lost_; }

  const job::Outcome& settle() {
    for (int handlers = 0; handlers < kMostSettled; ++handlers) {
      io_.restart();  // a handler may have stopped the loop before the others ran
      if (io_.poll_one() == 0) break;
    }
    io_.restart();
    return job_.outcome();
  }

  void write_out() {
    if (shown()) return;
    asio::steady_timer last(io_, kLastWait);
    const Lifetime waiting;
    if (std::exchange(gave_up_reader_, false)) last.async_wait(waiting.guard([this](asio::error_code) { io_.stop(); }));
    io_.restart();
    io_.run();
  }

 private:
  int ranks_at_start() const { return parts_.plan.worlds.size(1, static_cast<int>(parts_.plan.ranks.size())); }

  // ---- hosts ----
  void add_hosts() {
    parts_.hosts.listen({.ready =
                             [this](int host, const wire::Hello&) {
                               if (is_spare(host)) return;
                               if (parts_.options.output.pty)
                                 send_window_size([&](auto m) { parts_.hosts.send(host, m); });
                               staging_.needed(host) ? prepare(host) : host_ready(host);
                             },
                         .lost = [this](int host, const HostFailure& loss) { host_lost(host, loss); },
                         .message =
                             [this](int host, wire::Message&& m, std::deque<sys::Fd>& fds) {
                               if (!is_spare(host)) received(host, std::move(m), fds);
                             },
                         .report_duplicates = true});
    if (!parts_.hosts.empty()) return;
    std::vector<plan::Host> hosts;
    for (const plan::PlannedHost& planned : parts_.plan.hosts) hosts.push_back(planned.host);
    hosts.insert(hosts.end(), parts_.plan.replacements.begin(), parts_.plan.replacements.end());
    parts_.hosts.open(hosts);
  }

  /// The links of Plan::replacements follow the links of the plan's hosts. A job with replacements adds no other hosts.
  bool is_spare(int host) const {
    return !parts_.plan.replacements.empty() && host >= static_cast<int>(parts_.plan.hosts.size());
  }

  void spare_lost(int host, const HostFailure& loss) {
    parts_.hosts.drop(host);
    const size_t index = static_cast<size_t>(host) - parts_.plan.hosts.size();
    log().warn("lost spare host {}: {}", parts_.plan.replacements.at(index).name, loss.why);
  }

  void prepare(int host) {
    happened(job::HostReached{host});
    staging_.begin(host, Clock::now());
  }

  void host_ready(int host) {
    happened(job::HostReady{host});
    wire_up_.host_ready(host);
  }

  void host_lost(int host, const HostFailure& loss) {
    if (is_spare(host)) return spare_lost(host, loss);
    if (!loss.ordered.text.empty() && job_.phase() != job::Phase::starting) {
      const std::int64_t since = loss.ordered.read_ns - std::chrono::nanoseconds(kKillsBefore).count();
      happened(job::HostTermination{SIGKILL, since, ended_by_manager(loss.ordered.text), host, own_clock()});
    }
    parts_.hosts.drop(host);
    wire_up_.host_lost(host, loss);
    stack_watch_.host_lost(host);
    happened(job::HostLost{host, loss.why, loss.hint, parts_.hosts.gone_by(host)});
    for (const int rank : parts_.plan.host(host).ranks) streams_.abandon(rank);
    if (sidecar_.is_on(host)) sidecar_lost();
  }

  /// The host's agent violates the protocol.
  void host_broken(int host, const std::string& why) { host_lost(host, {why}); }

  const std::string& host_name(int host) const { return parts_.plan.host(host).host.name; }

  void send_to_rank(int rank, const wire::Message& message) {
    const bool beside = sidecar_.is(rank);
    parts_.hosts.send(beside ? sidecar_.host() : parts_.plan.rank(rank).host, message);
  }

  static void send_window_size(const std::function<void(const wire::WindowSize&)>& send) {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) send(wire::WindowSize{size.ws_row, size.ws_col});
  }

  // ---- messages of agents ----
  void received(int host, wire::Message&& message, std::deque<sys::Fd>& fds) {
    job_.host_heard(host, Clock::now(), parts_.hosts.answered(host));
    std::visit(
        [&](auto& m) {
          if (const std::string why = order_.check(host, m, job_.phase()); !why.empty()) return host_broken(host, why);
          on(host, m, fds);
        },
        message);
  }

  void on(int host, wire::Started& started, std::deque<sys::Fd>& fds) {
    const int rank = static_cast<int>(started.rank);
    if (parts_.hosts.passes_fds(host)) {
      auto handed = handed_over(started, fds);
      if (!handed) return host_broken(host, "protocol error: missing descriptors from the agent");
      streams_.opened(rank, *std::move(handed));
    } else if (started.fds != 0) {
      return host_broken(host, "protocol error: unexpected descriptors from the agent");
    } else {
      opened_in_frames(host, rank);
    }
    if (sidecar_.is(rank)) return log().debug(sidecar_.started(started.pid));
    happened(job::RankStarted{rank, static_cast<int>(started.pid), started.time_ns, folded_cpus(started)});
    if (takes_stdin(parts_.options.stdin_target, parts_.plan, rank)) stdin_.add(rank);
    log().debug("{} started, pid {}", name(rank), started.pid);
    if (rank >= ranks_at_start()) return;
    if (++started_ == ranks_at_start()) parts_.listener.all_started(job_.outcome());
  }

  void opened_in_frames(int host, int rank) {
    const bool late = rank >= ranks_at_start();  // a spawned rank, or the sidecar
    const std::uint32_t planned = first_credit(launcher::ranks_at_start(parts_.plan, host));
    const std::uint32_t credit = late ? std::min(planned, wire::kLateCredit) : planned;
    streams_.opened_remote(rank, carried_streams(parts_.plan, parts_.options, at_index(facts_, rank), rank), credit,
                           [this](int r, Stream stream, std::uint32_t bytes) {
                             const auto number = static_cast<std::uint8_t>(static_cast<int>(stream) + 1);
                             send_to_rank(r, wire::Credit{static_cast<std::uint32_t>(r), number, bytes});
                           });
  }

  // ---- the sidecar ----
  void drained(int rank) {
    if (!sidecar_.is(rank)) return happened(job::RankDrained{rank});
    sidecar_.drained();
    if (sidecar_.gone()) happened(job::SidecarGone{});
  }

  void sidecar_ended(const ExitStatus& status) {
    const job::SidecarEnded ended = sidecar_.ended(status);
    const bool alone = job_.phase() == job::Phase::running;  // still running, even without a running rank
    happened(ended);
    log().debug(ended.detail);
    if (!status.ok() && alone && job_.phase() == job::Phase::running) log().warn(ended.detail);
    if (sidecar_.gone()) happened(job::SidecarGone{});
  }

  void sidecar_lost() {
    sidecar_.lost();
    streams_.abandon(sidecar_.number());
  }

  void stdin_failed(int error) {
    happened(job::InputFailed{std::string("cannot read stdin: ") + std::strerror(error) +
                              "\nuse another file, or --stdin none if no rank reads stdin"});
  }

  int stdin_ranks() const {
    return parts_.options.stdin_target.kind == plan::StdinTarget::Kind::all ? ranks_at_start() : 1;
  }

  /// The rank accepts no more stdin, or never did.
  void takes_no_stdin(int rank) {
    if (takes_stdin(parts_.options.stdin_target, parts_.plan, rank)) stdin_.remove(rank);
  }

  void on(int host, wire::SpawnFailed& refused, std::deque<sys::Fd>&) {
    const int rank = static_cast<int>(refused.rank);
    if (sidecar_.is(rank)) {
      sidecar_ended(ExitStatus(NotStarted{static_cast<int>(refused.error), refused.what}));
      return sidecar_lost();
    }
    wire_up_.rank_ended(rank);
    takes_no_stdin(rank);
    happened(job::RankEnded{rank, ExitStatus(NotStarted{static_cast<int>(refused.error), refused.what}),
                            refused.time_ns, parts_.hosts.clock(host)});
    streams_.abandon(rank);
  }

  void on(int host, wire::OutputData& output, std::deque<sys::Fd>&) {
    if (output.stream < 1 || output.stream > output::kStreams) {
      return host_broken(host, "protocol error: unknown stream from the agent");
    }
    job_.output_arrived(Clock::now());
    const std::string why = streams_.received(static_cast<int>(output.rank), static_cast<Stream>(output.stream - 1),
                                              std::move(output.bytes), output.time_ns);
    if (!why.empty()) host_broken(host, why);
  }

  void on(int host, wire::Ended& ended, std::deque<sys::Fd>&) {
    const int rank = static_cast<int>(ended.rank);
    const ExitStatus status = exit_status(ended);
    if (sidecar_.is(rank)) {
      sidecar_ended(status);
      return streams_.rank_ended(rank);
    }
    log().debug("{} {}", name(rank), status.describe());
    takes_no_stdin(rank);
    streams_.rank_ended(rank);
    output_.rank_ended(rank);
    wire_up_.rank_ended(rank);
    happened(job::RankEnded{rank, status, ended.time_ns, parts_.hosts.clock(host), ended.after_signal});
    wire_up_.print_warnings();
  }

  void on(int, wire::WroteError& wrote, std::deque<sys::Fd>&) {
    auto* texts = parts_.error_texts;
    if (texts && texts->size() < kMostErrorTexts) texts->emplace(static_cast<int>(wrote.rank), std::move(wrote.text));
  }

  void on(int host, wire::Credit& credit, std::deque<sys::Fd>&) {
    if (stdin_.granted(static_cast<int>(credit.rank), credit.bytes)) return;
    host_broken(host, "protocol error: the agent granted more stdin than the launcher sent");
  }
  void on(int, wire::StdinClosed& closed, std::deque<sys::Fd>&) { takes_no_stdin(static_cast<int>(closed.rank)); }
  void on(int host, wire::MpiAbort& aborted, std::deque<sys::Fd>&) {
    const int rank = static_cast<int>(aborted.rank);
    log().debug("{} called MPI_Abort with code {}", name(rank), aborted.code);
    happened(job::RankAborted{rank, static_cast<int>(aborted.code & 0xff), aborted.time_ns, parts_.hosts.clock(host)});
  }
  void on(int host, wire::Log& message, std::deque<sys::Fd>&) {
    const int times = ++logs_[host];
    if (times > kMostLogs) return;
    if (times == kMostLogs) return log().warn("{}: further messages of the agent are not shown", host_name(host));
    log().log(level_of(message), "{}: {}", host_name(host), message.text);
  }
  void on(int host, wire::StageCredit& credit, std::deque<sys::Fd>&) {
    if (!staging_.granted(host, credit, Clock::now()))
      host_broken(host, "protocol error: the agent granted more --stage data than the launcher sent");
  }
  void on(int host, wire::Prepared& prepared, std::deque<sys::Fd>&) {
    const auto loss = staging_.done(host, prepared);
    if (!loss) return host_broken(host, "protocol error: unexpected message from the agent");
    loss->why.empty() ? host_ready(host) : host_lost(host, *loss);
  }
  void on(int host, wire::Stacks& stacks, std::deque<sys::Fd>&) {
    if (const std::string why = stack_watch_.received(host, std::move(stacks)); !why.empty()) host_broken(host, why);
  }
  void on(int host, wire::Clean& clean, std::deque<sys::Fd>&) { happened(job::HostClean{host, std::move(clean.left)}); }
  void on(int host, wire::TerminationNotice& notice, std::deque<sys::Fd>&) {
    const auto signal = static_cast<int>(notice.signal);
    if (!is_end_signal(signal) && signal != SIGUSR1 && signal != SIGUSR2) {
      return host_broken(host, "protocol error: unexpected signal from the agent");
    }
    log().info("{}: the agent received {}", host_name(host), signal_name(signal));
    parts_.hosts.ping(host);
    happened(job::HostTermination{signal, notice.time_ns, termination_source(host), host, parts_.hosts.clock(host),
                                  notice.direct});
  }
  void on(int host, wire::Uncaught& uncaught, std::deque<sys::Fd>&) {
    std::set<int> without_handler = signal_retry_.uncaught(host, uncaught, Clock::now());
    std::erase_if(without_handler, [this](int rank) { return sidecar_.is(rank); });
    if (without_handler.empty()) return;
    const bool one = without_handler.size() == 1;
    log().warn("{}: {} {} not catch {}, so dlaunch did not send the signal", host_name(host),
               (one ? "rank " : "ranks ") + parts_.plan.worlds.fold(without_handler), one ? "does" : "do",
               signal_name(static_cast<int>(uncaught.signal)));
  }
  /// Passes on messages for MPI. Ignores Ping (counted already), and late answers to queries before the job.
  template <class Other>
  void on(int host, Other& other, std::deque<sys::Fd>&) {
    if constexpr (requires { wire_up_.on(host, other); }) wire_up_.on(host, other);
  }

  std::string termination_source(int host) const {
    const plan::Host& agent_host = parts_.plan.host(host).host;
    if (agent_host.local) return "";
    if (!parts_.plan.manager) return agent_host.name + " received a termination signal";
    return ended_by_manager(parts_.hosts.manager_notice(host));
  }

  std::string ended_by_manager(const std::string& notice) const {
    const std::string job = parts_.plan.manager ? plan::to_string(*parts_.plan.manager) : "the job";
    return job + " was cancelled or reached its time limit" + (notice.empty() ? "" : ": " + notice);
  }

  // ---- events and actions ----
  void happened(const job::Event& event) { perform(job_.handle(event, Clock::now())); }

  void perform(const job::Actions& actions) {
    const bool gave_up = job_.outcome().unread || job_.outcome().unended;
    if (gave_up && !reader_waited_) reader_waited_ = streams_.any_waits() || !output_.flushed();
    for (const job::Action& action : actions) std::visit([this](const auto& a) { act(a); }, action);
    deadline_.set(job_.deadline());
    written_ = parts_.output.streams().written();
    if (job_.ranks_ended()) output_.ranks_ended();
  }

  void act(const job::StartRanks& start) {
    parts_.ports.release();
    for (const int rank : parts_.plan.host(start.host).ranks) order_.start_requested(rank);
    if (sidecar_.is_on(start.host)) order_.start_requested(sidecar_.number());
    for (wire::Message& frame : wire_up_.start_frames(start.host)) {
      if (auto* layout = std::get_if<wire::Layout>(&frame)) layout->lease_ms = lease_ms(start.host);
      parts_.hosts.send(start.host, frame);
    }
    parts_.hosts.flush(start.host);  // before the next host: all environments together take much memory
  }
  /// The ranks of a host that may be replaced must end before their replacements start. A lost host without another
  /// login (--same-line) is not swept, so its agent must not wait for long.
  std::uint32_t lease_ms(int host) const {
    const auto first = static_cast<int>(parts_.plan.hosts.size());
    bool replaceable = parts_.options.policy.shrink;
    for (int spare = first; spare < first + static_cast<int>(parts_.plan.replacements.size()); ++spare) {
      replaceable = replaceable || !parts_.hosts.is_lost(spare);
    }
    if (parts_.hosts.reconnects(host) && (!parts_.round.may_follow || !replaceable)) return 0;
    return static_cast<std::uint32_t>(parts_.options.heartbeat.count() * link::Lease::kBeats);
  }
  void act(const job::StartWorld& start) {
    for (const int rank : newest_ranks(parts_.plan, start.host)) order_.start_requested(rank);
    for (const wire::Message& frame : wire_up_.newest_frames(start.host)) parts_.hosts.answer(start.host, frame);
  }
  /// Without the spare hosts.
  int hosts_of_round() const { return static_cast<int>(parts_.plan.hosts.size()); }
  void act(const job::SignalRanks& signal) {
    const wire::Signal message{static_cast<std::uint32_t>(signal.signal)};
    const bool ending = job_.phase() >= job::Phase::ending;
    for (int host = 0; host < hosts_of_round(); ++host) {
      if (host != signal.host.value_or(host)) continue;
      parts_.hosts.send(host, message);
      if (ending) parts_.hosts.ping(host);
    }
  }
  void act(const job::CheckpointRanks& save) {
    const wire::Signal signal{static_cast<std::uint32_t>(save.signal), true};
    for (int host = 0; host < hosts_of_round(); ++host) {
      if (!save.signalled.contains(host)) parts_.hosts.send(host, signal);
    }
    log().warn("preempted by {}: agents send {} to the ranks that catch it; the ranks have {} s to save their state",
               job::describe(*job_.outcome().preempted), signal_name(save.signal),
               std::chrono::ceil<std::chrono::seconds>(save.until - Clock::now()).count());
  }
  void act(const job::FinishHost& finish) {
    parts_.hosts.send(finish.host, wire::Finish{finish.stay});
    parts_.hosts.ping(finish.host);
  }
  void act(const job::PingHost& ask) { parts_.hosts.ping(ask.host); }
  /// Posts the loss to the loop, because the loss changes the job.
  void act(const job::LoseHost& lose) {
    asio::post(io_, lifetime_.guard([this, lose] {
      if (!parts_.hosts.is_lost(lose.host)) parts_.hosts.lose(lose.host, {lose.why});
    }));
  }
  void act(const job::DropHost& drop) {
    sweeps_.drop(drop.host);
    parts_.hosts.drop(drop.host);
  }
  void act(const job::SweepHost& sweep) { sweeps_.begin(sweep.host); }
  void act(const job::TakeStacks& take) { stack_watch_.take_before_end(take.why); }
  void act(const job::StopSelf&) {
    parts_.hosts.pause();
    ::raise(SIGSTOP);
    parts_.hosts.ping_all();
  }
  void act(const job::Finished&) {
    stdin_.stop();
    output_.finish_files(first_to_fail());
    finished_ = true;
    stop_when_flushed();
  }

  std::optional<int> first_to_fail() const {
    const job::Outcome& outcome = job_.outcome();
    return outcome.cause == job::Cause::sidecar_failed ? sidecar_.number() : outcome.first_failure;
  }

  void stop_when_flushed() {
    if (!finished_ || !output_.files_settled() || (!output_.flushed() && !gave_up_reader_)) return;
    io_.stop();
  }

  bool shown() const { return parts_.output.streams().waiting().empty(); }

  void act(const job::StopWaiting&) {
    gave_up_reader_ = true;
    output_.hurry();
    stop_when_flushed();
  }

  void time_passed() {
    if (parts_.output.streams().written() != written_) job_.reader_took_some(Clock::now());
    perform(job_.tick(Clock::now()));
  }

  // ---- output, time, signals ----
  std::function<void(int, Stream, std::string_view)> reads_progress() {
    if (!parts_.options.progress) return {};
    return [this](int rank, Stream stream, std::string_view bytes) {
      bytes.empty() ? progress_.ended(rank, stream) : progress_.fed(rank, stream, bytes);
    };
  }

  void await_files() {
    const auto written = parts_.output.streams().await_files();
    if (written) return;
    log().error(to_text(written.error()));
    if (!output_lost_) output_lost_ = written.error();
  }

  void check_output() {
    while (const auto error = parts_.output.take_error()) {
      const bool failed_before = job_.outcome().cause == job::Cause::output_failed;
      if (parts_.options.output.abort_on_error) {
        happened(job::OutputFailed{error->what + ": " + error->why + '\n' + error->hint, kExitOutput});
      }
      // The summary has only the error that is the cause of the end.
      if (failed_before || job_.outcome().cause != job::Cause::output_failed) {
        output_lost_ = error;
        log().error(to_text(*error));
      }
    }
    if (parts_.output.reader_gone()) happened(job::OutputFailed{"", kExitSigpipe});
    stop_when_flushed();
  }

  void show_progress() {
    job::Progress progress = job_.progress();
    progress.reached = progress_.all();
    parts_.listener.progress(progress);
    const std::string late = job_.phase() == job::Phase::starting ? staging_.note(Clock::now()) : "";
    if (!late.empty()) log().warn(late);
    if (job_.saves()) {
      for (const auto& [host, signal] : signal_retry_.due(Clock::now())) parts_.hosts.send(host, signal);
    }
    const bool all_read = !streams_.any_waits() && output_.flushed();
    if (progress.reached) progress_.poll(job_.running(), all_read);
    stack_watch_.poll(output_.fed(), !all_read);
    if (job_.phase() == job::Phase::running && ++running_ticks_ == kTicksToStacksServer) {
      questions_.open(parts_.plan.job_id);
    }
    progress_timer_.expires_after(kProgressTick);
    progress_timer_.async_wait(lifetime_.guard([this](asio::error_code error) {
      if (!error) show_progress();
    }));
  }

  void wait_signal() {
    parts_.signals.next(lifetime_.guard([this](int signal) {
      on_signal(signal);
      wait_signal();
    }));
  }

  void on_signal(int signal) {
    if (signal == SIGCHLD) {  // as PID 1 of a container, dlaunch also receives other processes' orphans
      sys::reap_all();
      return;
    }
    log().info("received {}", signal_name(signal));
    if (signal == parts_.options.stacks_on) return stack_watch_.show();
    if (signal == SIGWINCH) {
      if (parts_.options.output.pty) send_window_size([&](auto size) { parts_.hosts.send_to_all(size); });
      return;
    }
    if (signal == SIGCONT) stdin_.continued();
    // The second signal: from now on dlaunch waits neither for a reader nor for a disk.
    if (job_.is_repeated(signal)) output_.hurry();
    happened(job::UserSignal{signal, sys::SignalSenders::last(signal)});
    stop_when_flushed();
  }

  std::string name(int rank) const { return "rank " + parts_.plan.worlds.name(rank); }

  spdlog::logger& log() const { return parts_.log; }

  asio::io_context& io_;
  Parts parts_;
  std::vector<output::RankFacts> facts_;
  job::Job job_;
  OutputDriver output_;
  RankStreams streams_;
  StdinSource stdin_;
  Deadline deadline_;
  asio::steady_timer progress_timer_;
  RankOrder order_;
  RankDirStaging staging_;
  SidecarProcess sidecar_;
  WireUp wire_up_;
  std::map<int, int> logs_;  // number of lines from each host's agent
  Sweeps sweeps_;
  CheckpointSignalRetry signal_retry_;
  ProgressWatch progress_;
  StackWatch stack_watch_;
  StacksServer questions_;
  int running_ticks_ = 0;
  int started_ = 0;
  std::optional<Error> output_lost_;
  bool gave_up_reader_ = false;
  std::optional<bool> reader_waited_;  // whether the reader had bytes to read when the job gave up the ranks' output
  std::uint64_t written_ = 0;          // the value when the deadline was set
  bool finished_ = false;
  const Lifetime lifetime_;
};

Launcher::Launcher(asio::io_context& io, Parts parts) : impl_(std::make_unique<Impl>(io, parts)) {}
Launcher::~Launcher() = default;
job::Outcome Launcher::run() { return impl_->run(); }
const std::optional<Error>& Launcher::output_lost() const { return impl_->output_lost(); }
const job::Outcome& Launcher::settle() { return impl_->settle(); }
void Launcher::write_out() { impl_->write_out(); }

void take_signals(link::Signals& signals, const JobOptions& options) {
  for (const int signal : sys::kJobSignals) {
    if (!sys::is_kept(signal) || signal == options.stacks_on) signals.add(signal);
  }
}

}  // namespace dlaunch::launcher
