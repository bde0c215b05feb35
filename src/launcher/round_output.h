// The ranks' output in one round: opens the streams of each rank, passes the bytes on to Output, and knows when all
// output is taken, refused or given up, which ends the loop. Owned by the Launcher; all constructor arguments must
// outlive this object.
#pragma once

#include <spdlog/fwd.h>

#include <asio/io_context.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/job_options.h"
#include "dlaunch/plan.h"
#include "job/job.h"
#include "launcher/hosts.h"
#include "launcher/output_driver.h"
#include "launcher/rank_streams.h"
#include "launcher/waits.h"
#include "wire/message.h"

namespace dlaunch::launcher {

class RoundOutput {
 public:
  struct Parts {
    const plan::Plan& plan;
    const std::vector<output::RankFacts>& facts;
    const JobOptions& options;
    output::Output& output;
    Hosts& hosts;
    const job::Job& job;
    spdlog::logger& log;
    std::function<void(int number)> drained;  ///< the output of a rank, or of the sidecar, is complete
    std::function<void(const job::Event&)> happened;
  };
  using Begun = std::function<void(const Result<void>& result)>;
  using Wrote = std::function<void(int number, output::Stream stream, std::string_view bytes)>;

  RoundOutput(asio::io_context& io, Parts parts);

  /// `wrote` receives all bytes that ranks write, and an empty text at the end of a stream. Call before start().
  void observe(Wrote wrote) { wrote_ = std::move(wrote); }
  void start();

  /// Adds the streams of spawned ranks, before the plan has the ranks.
  Result<void> add(const std::vector<output::RankFacts>& facts);
  /// A rank, or the sidecar, has started: opens its streams. Returns the protocol error, or an empty text.
  std::string opened(int host, const wire::Started& started, std::deque<sys::Fd>& fds);
  /// Returns the protocol error, or an empty text.
  std::string received(wire::OutputData& data);
  void ended(int number);
  /// No more output will arrive.
  void abandon(int number) { streams_.abandon(number); }

  output::StandardStreams& streams() const { return parts_.output.streams(); }
  /// A number that changes when a rank writes.
  std::uint64_t fed() const { return driver_.fed(); }
  void describe(job::Progress& progress) const { driver_.describe(progress); }
  /// Whether all output so far was taken.
  bool all_taken() const { return !streams_.any_waits() && driver_.flushed(); }

  // ---- the job's decisions ----
  /// Calls Output::begin(), and `begun` after the end of its work.
  void begin(Begun begun);
  std::string step() const { return parts_.output.step(); }
  /// The job has handled an event, and its actions follow.
  void job_decides();
  /// The job's actions were performed.
  void job_decided();
  /// Whether the reader has taken bytes since job_decided().
  bool reader_took() const { return parts_.output.streams().written() != written_; }
  /// From `at` on, dlaunch waits neither for a reader nor for a disk.
  void hurry(Time at = Clock::now()) { driver_.hurry(at); }
  /// Performs StopWaiting, and Finished: the loop stops after the last byte.
  void perform(const job::Action& action);
  void stop_when_taken();

  // ---- after the loop ----
  /// Completes the outcome of the round with the fate of its output. Waits for files, unless a restart may follow.
  void complete(job::Outcome& outcome);
  /// Launcher::write_out().
  void write_out();
  /// Launcher::output_lost().
  const std::optional<Error>& lost() const { return lost_; }

 private:
  bool shown() const { return parts_.output.streams().waiting().empty(); }
  void open_frames(int host, int number);
  void give_up_reader();
  void finish();
  void check();
  void check_begun();
  void await_files();

  asio::io_context& io_;
  const Parts parts_;
  OutputDriver driver_;
  RankStreams streams_;
  Deadline begin_look_;
  Begun begun_;  // set while Output::begin() is at work
  Wrote wrote_;
  std::optional<Error> lost_;
  bool finished_ = false;
  bool gave_up_reader_ = false;
  std::optional<bool> reader_waited_;  // whether the reader had bytes to read when the job gave up the ranks' output
  std::uint64_t written_ = 0;
};

}  // namespace dlaunch::launcher
