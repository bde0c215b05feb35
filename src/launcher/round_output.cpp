#include "launcher/round_output.h"

#include <spdlog/logger.h>

#include <algorithm>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <utility>
#include <variant>

#include "base/end_signals.h"
#include "base/index_cast.h"
#include "base/lifetime.h"
#include "base/shared_texts.h"
#include "base/try.h"
#include "launcher/frames.h"
#include "launcher/rank_messages.h"

namespace dlaunch::launcher {
namespace {

using output::Stream;
constexpr std::chrono::seconds kLastWait{1};         // for the last lines, after the job gave up on a reader
constexpr std::chrono::seconds kBeginLook{1};        // interval of checks on the progress of the files
constexpr int kExitSigpipe = kSignalBase + SIGPIPE;  // as for any filter after the exit of its reader

}  // namespace

RoundOutput::RoundOutput(asio::io_context& io, Parts parts)
    : io_(io),
      parts_(std::move(parts)),
      driver_(io, parts_.output),
      streams_(io, driver_, static_cast<int>(parts_.facts.size()), [this](int number) { parts_.drained(number); }),
      begin_look_(io, [this] { check_begun(); }) {}

void RoundOutput::start() {
  driver_.start({[this] { streams_.resume(); }, [this] { check(); }, wrote_});
  if (parts_.options.policy.timeout) hurry(Clock::now() + *parts_.options.policy.timeout);
}

Result<void> RoundOutput::add(const std::vector<output::RankFacts>& facts) {
  TRY(parts_.output.add(facts));
  streams_.add_ranks(static_cast<int>(parts_.plan.ranks.size() + facts.size()));
  return {};
}

std::string RoundOutput::opened(int host, const wire::Started& started, std::deque<sys::Fd>& fds) {
  const int number = static_cast<int>(started.rank);
  if (parts_.hosts.passes_fds(host)) {
    auto handed = handed_over(started, fds);
    if (!handed) return "protocol error: missing descriptors from the agent";
    streams_.opened(number, *std::move(handed));
    return "";
  }
  if (started.fds != 0) return "protocol error: unexpected descriptors from the agent";
  open_frames(host, number);
  return "";
}

void RoundOutput::open_frames(int host, int number) {
  const bool late = number >= ranks_at_start(parts_.plan);  // a spawned rank, or the sidecar
  const std::uint32_t planned = first_credit(ranks_at_start(parts_.plan, host));
  const std::uint32_t credit = late ? std::min(planned, wire::kLateCredit) : planned;
  streams_.opened_remote(number, carried_streams(parts_.plan, parts_.options, at_index(parts_.facts, number), number),
                         credit, [this, host](int of, Stream stream, std::uint32_t bytes) {
                           const auto stream_number = static_cast<std::uint8_t>(static_cast<int>(stream) + 1);
                           parts_.hosts.send(host, wire::Credit{static_cast<std::uint32_t>(of), stream_number, bytes});
                         });
}

std::string RoundOutput::received(wire::OutputData& data) {
  if (data.stream < 1 || data.stream > output::kStreams) return "protocol error: unknown stream from the agent";
  return streams_.received(static_cast<int>(data.rank), static_cast<Stream>(data.stream - 1), std::move(data.bytes),
                           data.time_ns);
}

void RoundOutput::ended(int number) {
  streams_.rank_ended(number);
  if (number < static_cast<int>(parts_.plan.ranks.size())) driver_.rank_ended(number);
}

void RoundOutput::job_decides() {
  const bool gave_up = parts_.job.outcome().unread || parts_.job.outcome().unended;
  if (gave_up && !reader_waited_) reader_waited_ = !all_taken();
}

void RoundOutput::job_decided() {
  written_ = parts_.output.streams().written();
  if (parts_.job.ranks_ended()) driver_.ranks_ended();
}

void RoundOutput::perform(const job::Action& action) {
  if (std::holds_alternative<job::Finished>(action)) finish();
  if (std::holds_alternative<job::StopWaiting>(action)) give_up_reader();
}

void RoundOutput::give_up_reader() {
  gave_up_reader_ = true;
  hurry();
  stop_when_taken();
}

void RoundOutput::finish() {
  const job::Outcome& outcome = parts_.job.outcome();
  const bool sidecar = outcome.cause == job::Cause::sidecar_failed;
  driver_.finish_files(sidecar ? static_cast<int>(parts_.plan.ranks.size()) : outcome.first_failure);
  finished_ = true;
  stop_when_taken();
}

void RoundOutput::stop_when_taken() {
  if (finished_ && driver_.files_settled() && (driver_.flushed() || gave_up_reader_)) io_.stop();
}

void RoundOutput::begin(Begun begun) {
  begun_ = std::move(begun);
  driver_.begin();
}

void RoundOutput::check_begun() {
  if (!begun_) return;
  const auto result = parts_.output.begun(Clock::now());
  if (!result) return begin_look_.set(Clock::now() + kBeginLook);
  std::exchange(begun_, {})(*result);
}

/// A sink has failed, or the reader is gone, or more bytes were taken.
void RoundOutput::check() {
  check_begun();
  while (const auto error = parts_.output.take_error()) {
    const bool failed_before = parts_.job.outcome().cause == job::Cause::output_failed;
    if (parts_.options.output.abort_on_error) {
      parts_.happened(job::OutputFailed{error->what + ": " + error->why + '\n' + error->hint, kExitOutput});
    }
    // The summary has only the error that is the cause of the end.
    if (failed_before || parts_.job.outcome().cause != job::Cause::output_failed) {
      lost_ = error;
      parts_.log.error(to_text(*error));
    }
  }
  if (parts_.output.take_fold_note())
    parts_.log.warn("equal lines of several ranks are printed once; use --fold=off to print all lines");
  if (parts_.output.reader_gone()) parts_.happened(job::OutputFailed{"", kExitSigpipe});
  stop_when_taken();
}

void RoundOutput::complete(job::Outcome& outcome) {
  if (!outcome.may_restart) await_files();
  // The processes may have ended before the wait for the disk.
  if (outcome.ended_at && driver_.has_waited(*outcome.ended_at)) outcome.ended_at.reset();
  const bool unended = outcome.unread && !reader_waited_.value_or(false);
  outcome.unread = (outcome.unread && !unended) || !shown();
  outcome.unended = unended || (outcome.unended && reader_waited_.value_or(false));
  if (outcome.unread && outcome.cause == job::Cause::success) {
    outcome.cause = job::Cause::output_failed;
    outcome.detail = "some output of the ranks was not read";
    outcome.exit_code = kExitOutput;
  }
}

void RoundOutput::await_files() {
  const auto written = parts_.output.streams().await_files();
  if (written) return;
  parts_.log.error(to_text(written.error()));
  if (!lost_) lost_ = written.error();
}

void RoundOutput::write_out() {
  if (shown()) return;
  asio::steady_timer last(io_, kLastWait);
  const Lifetime waiting;
  if (std::exchange(gave_up_reader_, false)) last.async_wait(waiting.guard([this](asio::error_code) { io_.stop(); }));
  io_.restart();
  io_.run();
}

}  // namespace dlaunch::launcher
