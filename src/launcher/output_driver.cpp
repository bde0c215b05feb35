#include "launcher/output_driver.h"

#include <algorithm>
#include <utility>

namespace dlaunch::launcher {
namespace {

constexpr std::chrono::seconds kFilesLook{1};  // interval of checks on the progress of files
constexpr std::chrono::seconds kNoticeable{1};

}  // namespace

OutputDriver::OutputDriver(asio::io_context& io, output::Output& output)
    : io_(io),
      output_(output),
      deadline_(io,
                [this] {
                  output_.tick(Clock::now());
                  after_change();
                }),
      waits_(
          io, [this] { return output_.waiting(); },
          [this](output::FdWriter& writer) {
            output_.flush(writer, Clock::now());
            after_change();
          }),
      files_deadline_(io, [this] { watch_files(); }),
      console_deadline_(io, [this] { watch_console(); }) {
  output_.streams().on_waiting([this] {
    waits_.update();
    watch();
  });
  waits_.update();
}

OutputDriver::~OutputDriver() { output_.streams().on_waiting({}); }

void OutputDriver::start(Handlers handlers) {
  handlers_ = std::move(handlers);
  if (output_.event_fd() < 0) return;
  writer_events_.emplace(io_, output_.event_fd(), Readiness::For::reading);
  wait_writer_events();
}

void OutputDriver::begin() {
  output_.begin(Clock::now());
  after_change();
}

void OutputDriver::feed(int rank, output::Stream stream, std::string_view bytes, std::int64_t wall_ns) {
  fed_ += bytes.size();
  if (handlers_.wrote && !bytes.empty()) handlers_.wrote(rank, stream, bytes);
  output_.feed(rank, stream, bytes, Clock::now(), wall_ns);
  after_change();
}

void OutputDriver::end(int rank, output::Stream stream) {
  if (handlers_.wrote) handlers_.wrote(rank, stream, {});
  output_.end(rank, stream, Clock::now());
  after_change();
}

void OutputDriver::rank_ended(int rank) {
  output_.rank_ended(rank);
  after_change();
}

void OutputDriver::after_change() {
  if (changing_) return;  // `moved` feeds output again: no nested calls
  changing_ = true;
  if (handlers_.moved) handlers_.moved();
  changing_ = false;
  waits_.update();
  deadline_.set(output_.deadline());
  watch();
  if (handlers_.failed) handlers_.failed();
}

void OutputDriver::wait_writer_events() {
  writer_events_->wait([this] {
    output_.handle_writer_events();
    if (output_.event_fd() >= 0) wait_writer_events();
    after_change();
  });
}

void OutputDriver::describe(job::Progress& progress) const {
  progress.bytes = fed_;
  progress.bars = output_.bars();
  progress.disk_waits = watch_.has_value() || console_watch_.has_value();
}

void OutputDriver::ranks_ended() {
  if (!std::exchange(ranks_ended_, true)) watch();
}

void OutputDriver::hurry(Time at) {
  if (!hurry_at_ || at < *hurry_at_) hurry_at_ = at;
  watch();
}

void OutputDriver::finish_files(std::optional<int> failed) {
  output_.finish_files(failed);
  after_change();
}

void OutputDriver::watch() {
  if (!ranks_ended_) return;  // until then ranks wait for a hanging disk, as for a slow reader
  watch_files();
  watch_console();
}

/// The last time at which `progress` changed during the wait. Begins the wait at the first call.
Time OutputDriver::last_moved(std::optional<Watch>& watch, std::uint64_t progress, Time now) {
  if (!watch) watch = Watch{now, now, progress};
  if (std::exchange(watch->progress, progress) != progress) watch->moved = now;
  return watch->moved;
}

void OutputDriver::end_wait(std::optional<Watch>& watch) {
  if (watch && Clock::now() - watch->since >= kNoticeable && !disk_hung_at_) disk_hung_at_ = watch->since;
  watch.reset();
}

bool OutputDriver::has_waited(Time at) const { return disk_hung_at_ && at - *disk_hung_at_ >= kNoticeable; }

/// Gives up the files after too long a time without a written byte.
void OutputDriver::watch_files() {
  if (output_.files_settled()) {
    end_wait(watch_);
    return files_deadline_.set({});
  }
  const Time now = Clock::now();
  Time until = last_moved(watch_, output_.files_progress(), now) + kFilesWait;
  if (hurry_at_) until = std::min(until, std::max(*hurry_at_, watch_->since) + kHurriedFilesWait);
  if (now < until) return files_deadline_.set(std::min(until, now + kFilesLook));
  output_.give_up_files(now);
  after_change();
}

/// Gives up a stdout or stderr that is a file on a disk that hangs.
void OutputDriver::watch_console() {
  output::StandardStreams& streams = output_.streams();
  if (!streams.files_wait()) {
    end_wait(console_watch_);
    return console_deadline_.set({});
  }
  const Time now = Clock::now();
  const Time until = last_moved(console_watch_, streams.files_progress(), now) + output::StandardStreams::kDiskWait;
  if (now < until) return console_deadline_.set(std::min(until, now + kFilesLook));
  output_.give_up_console(now);
  after_change();
}

}  // namespace dlaunch::launcher
