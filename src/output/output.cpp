#include "output/output.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>

#include "base/index_cast.h"
#include "base/text.h"
#include "base/try.h"
#include "output/channel.h"
#include "output/console.h"
#include "output/file_layout.h"
#include "output/joint_errors.h"
#include "output/label.h"
#include "output/line_splitter.h"
#include "output/rank_files.h"
#include "output/record_channel.h"

namespace dlaunch::output {
namespace {

/// With --pty, stdout and stderr are one stream.
OutputSettings with_joined_streams(OutputSettings settings) {
  settings.merge_stderr = settings.merge_stderr || settings.pty;
  return settings;
}

}  // namespace

class Output::Impl {
 public:
  Impl(OutputSettings settings, std::vector<RankFacts> ranks, StandardStreams& the_streams, OnLine on_line)
      : streams(the_streams),
        settings_(with_joined_streams(std::move(settings))),
        ranks_(std::move(ranks)),
        on_line_(std::move(on_line)) {
    add_sources();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (console_) console_->show_all();
  }

  Result<void> open() {
    if (settings_.label) {
      TRY(check_label_template(*settings_.label));
    }
    if (settings_.files) {
      files = TRY(RankFiles::open(settings_, ranks_, shared));
      shared.hidden = [this](int rank, Stream stream, std::size_t lines) { files->hidden(rank, stream, lines); };
    }
    console_ = std::make_shared<Console>(settings_, ranks_, streams, shared);
    streams.before_saying([held = std::weak_ptr(console_)] {  // the Output of the next round replaces the callback
      if (const auto console = held.lock()) console->show_held();
    });
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) connect(rank, false);
    return {};
  }

  Result<void> claim(const sys::Wait& wait) { return files ? files->claim(wait) : Result<void>(); }

  void begin(Time now) {
    if (!files) return;
    beginning_ = true;
    files->begin(now);
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) connect(rank);
  }

  std::optional<Result<void>> begun(Time now) {
    auto result = files && beginning_ ? files->begun(now) : Result<void>();
    beginning_ = beginning_ && !result;
    if (result && !*result) reported_ = all_reported_ = true;  // later failures of the files follow from this one
    return result;
  }

  std::string step() const { return beginning_ ? files->step() : ""; }

  Result<void> add(const std::vector<RankFacts>& more) {
    const size_t before = ranks_.size();
    ranks_.insert(ranks_.end(), more.begin(), more.end());
    if (files) {
      if (auto made = files->add(before); !made) {
        ranks_.resize(before);
        return made;
      }
    }
    add_sources();
    const bool moved = console_->add(settings_, ranks_, before, shared);
    for (size_t rank = moved ? 0 : before; rank < ranks_.size(); ++rank) {
      connect(static_cast<int>(rank), rank >= before);
    }
    return {};
  }

  bool ready(int rank, Stream stream) const {
    const Source& s = source(rank, stream);
    Channel* const file = s.file.file ? s.file.file->channel.get() : nullptr;
    Channel* const console = s.console.channel;
    const bool ready = RankFiles::ready(s.file) && (!console || console->ready(s.console.slot));
    if (file) file->answered(s.file.slot, ready);
    if (console) console->answered(s.console.slot, ready);
    return ready;
  }

  bool folds() const { return console_->folds(); }

  void feed(int rank, Stream stream, std::string_view bytes, ReadTime at) {
    shared.now = at.now;
    Source& s = source(rank, stream);
    s.bytes += bytes.size();
    s.fed_at = ++feeds_;
    s.tail.add(bytes);
    if (on_line_) pass_lines(rank, stream, bytes);
    if (s.file.file) {
      files->feed(s.file, bytes, at);
      check_files();
    }
    if (s.console.channel) {
      if (!s.console.screen->bars) streams.showing();
      s.console.screen->fed = true;
      s.console.channel->feed(s.console.slot, bytes, at);
      check(*s.console.screen);
    }
  }

  void end(int rank, Stream stream, Time now) {
    shared.now = now;
    Source& s = source(rank, stream);
    if (!s.unfinished.empty()) on_line_(rank, stream, std::exchange(s.unfinished, {}));
    if (s.console.channel) {
      streams.showing();
      s.console.channel->end(s.console.slot, now);
      check(*s.console.screen);
    }
    if (!s.file.file) return;
    files->end(std::exchange(s.file, {}), now);
    check_files();
  }

  std::string bars() const { return console_->bars(); }

  void rank_started(int rank, int pid) { console_->set_pid(rank, pid); }

  /// A job has one note: in the first round.
  bool take_fold_note() {
    if (noted_fold_ || settings_.fold || ranks_.front().round.value_or(0) > 0 || !console_->has_folded()) return false;
    const auto is_in_line = [](const auto& screen) { return screen->writer.mid_line(); };
    if (std::ranges::any_of(console_->screens(), is_in_line)) return false;  // maybe after a prompt: later
    return noted_fold_ = true;
  }

  std::vector<FdWriter*> waiting() const {
    std::vector<FdWriter*> all = streams.waiting();
    if (!files) return all;
    const std::vector<FdWriter*> of_files = files->waiting();
    all.insert(all.end(), of_files.begin(), of_files.end());
    return all;
  }

  void flush(FdWriter& writer, Time now) {
    shared.now = now;
    if (streams.owns(writer)) {
      streams.flush(writer);
      for (const auto& screen : console_->screens()) {
        if (&screen->writer != &writer) continue;
        screen->channel->drained(now);
        check(*screen);
      }
      if (files_finished_) console_->show_held();
      return;
    }
    files->flush(writer, now);
    check_files();
  }

  void tick(Time now) {
    shared.now = now;
    streams.showing();
    shared.timers.run(now);
    for (const auto& screen : console_->screens()) check(*screen);
  }

  void check_files() {
    if (beginning_) return;  // a failure is the result of begun()
    for (Error& error : files->take_failures()) {
      console_->lift_limits();
      report(std::move(error));
    }
    report_at_end();
  }

  void finish_files(std::optional<int> failed) {
    console_->show_held();
    if (!files) return;
    files_finished_ = true;
    files->finish(failed);
    report_lost_files();
    report_at_end();
  }

  void give_up_files(Time now) {
    if (!files) return;
    files->give_up(now);
    if (files_finished_) report_lost_files();
    report_at_end();
  }

  void give_up_console(Time now) {
    if (auto lost = streams.give_up_files(); !lost) report_lost(std::move(lost).error());
    for (const auto& screen : console_->screens()) {
      screen->channel->drained(now);
      check(*screen);
    }
  }

  LastLines last_lines(int rank) const {
    if (has_one_stream(rank)) return {lines_of(rank, Stream::out), "output", whole(rank, Stream::out)};
    LastLines last{lines_of(rank, Stream::err), "stderr", whole(rank, Stream::err)};
    if (!last.lines.empty()) return last;
    if (auto lines = lines_of(rank, Stream::out); !lines.empty()) {
      return {std::move(lines), "stdout", whole(rank, Stream::out)};
    }
    return last;
  }

  LastLines newest_lines(int rank) const {
    const bool is_stderr_newer = source(rank, Stream::out).fed_at <= source(rank, Stream::err).fed_at;
    if (is_stderr_newer || has_one_stream(rank)) return last_lines(rank);
    auto lines = lines_of(rank, Stream::out);
    return lines.empty() ? last_lines(rank) : LastLines{std::move(lines), "stdout", whole(rank, Stream::out)};
  }

  std::uint64_t bytes(int rank, Stream stream) const {
    const RankFile* file = direct(rank, stream);
    return file ? file->size : source(rank, stream).bytes;
  }

  std::string path(int rank, Stream stream) const {
    if (!settings_.files || (stream == Stream::err && has_one_stream(rank))) return {};
    const auto& facts = at_index(ranks_, rank);
    if (!settings_.files->keeps(stream, facts.local_rank)) return {};
    return file_path(*settings_.files, facts, rank - facts.first, count_ranks(ranks_, facts.world), stream);
  }

  StandardStreams& streams;
  ChannelContext shared;
  std::unique_ptr<RankFiles> files;
  std::deque<Error> write_errors;
  bool reader_gone = false;

 private:
  struct Source {
    ConsoleSlot console;
    FileSlot file;
    std::uint64_t bytes = 0;
    std::uint64_t fed_at = 0;     // number of the last feed()
    std::string unfinished = {};  // start of a line for on_line_
    Tail tail = Tail{};           // for the failure summary
  };

  static std::size_t index(int rank, Stream stream) {
    return static_cast<std::size_t>(rank) * kStreams + static_cast<std::size_t>(stream);
  }
  Source& source(int rank, Stream stream) { return sources_[index(rank, stream)]; }
  const Source& source(int rank, Stream stream) const { return sources_[index(rank, stream)]; }
  bool has_one_stream(int rank) const { return settings_.merge_stderr || !at_index(ranks_, rank).name.empty(); }

  void add_sources() {
    const std::size_t wanted = ranks_.size() * kStreams;
    while (sources_.size() < wanted) {
      const std::size_t next = sources_.size();
      const bool is_main =
          has_one_stream(static_cast<int>(next / kStreams)) || next % kStreams == static_cast<std::size_t>(Stream::err);
      sources_.emplace_back().tail = Tail(is_main ? kTailBytes : kStdoutTailBytes);
    }
  }

  /// Empty if the stream has only white space.
  std::vector<std::string> lines_of(int rank, Stream stream) const {
    const Tail& tail = source(rank, stream).tail;
    const RankFile* file = direct(rank, stream);
    auto lines = file ? output::last_lines(file->tail, file->tail.size() == file->size, kLastLines)
                      : output::last_lines(tail.bytes(), tail.whole(), kLastLines);
    const bool blank = std::ranges::all_of(lines, [](const std::string& line) { return trim(line).empty(); });
    return blank ? std::vector<std::string>() : lines;
  }

  /// A closed pipe at stdout is not a failure.
  void check(Screen& screen) {
    const int error = screen.new_failure();
    if (error == 0) return;
    if (error == EPIPE && screen.name == "stdout") {
      reader_gone = true;
    } else {
      report(sink_error("write " + screen.name, error));
    }
  }

  void pass_lines(int rank, Stream stream, std::string_view bytes) {
    std::string& unfinished = source(rank, stream).unfinished;
    for (size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
      unfinished += bytes.substr(0, end);
      on_line_(rank, stream, std::exchange(unfinished, {}));
      bytes.remove_prefix(end + 1);
    }
    unfinished += bytes;
    if (unfinished.size() >= kMaxHeld) on_line_(rank, stream, std::exchange(unfinished, {}));
  }

  /// Of several failed writes, the first is reported at once; report_at_end() reports the others.
  void report(Error error) { reported_ ? unreported_.push_back(std::move(error)) : report_lost(std::move(error)); }

  /// After the last file is complete or dropped.
  void report_at_end() {
    if (!files_finished_ || !files->settled() || std::exchange(all_reported_, true)) return;
    for (Error& error : join_errors(unreported_)) report_lost(std::move(error));
    if (const std::uint64_t lines = files->lost_lines(); lines > 0) {
      report_lost({.where = "--console-rate",
                   .what = "up to " + count(lines, "line") + " of output lost",
                   .why = "the console did not show these lines, and dlaunch could not write their log file",
                   .hint = "check the disk of the log files, or remove --console-rate"});
    }
  }

  /// Reports dropped output also after a failed write, because the text names other files.
  void report_lost(Error error) {
    reported_ = true;
    error.exit_code = kExitOutput;
    write_errors.push_back(std::move(error));
  }

  void report_lost_files() {
    if (auto lost = files->lost(); lost && !std::exchange(lost_files_reported_, true)) report_lost(*std::move(lost));
  }

  void connect(int rank, bool to_files = true) {
    for (const Stream stream : {Stream::out, Stream::err}) {
      source(rank, stream).console = console_->slot(rank, stream);
      if (files && to_files) source(rank, stream).file = files->slot(rank, stream);
    }
  }

  /// The path of the file that has all output of the stream; else empty.
  std::string whole(int rank, Stream stream) const {
    return files && files->has_all(rank, stream) ? path(rank, stream) : "";
  }

  /// The file of a stream if the rank writes the file itself, else null.
  const RankFile* direct(int rank, Stream stream) const {
    const RankFile* file = files ? files->slot(rank, stream).file : nullptr;
    return file && file->direct ? file : nullptr;
  }

  const OutputSettings settings_;
  std::vector<RankFacts> ranks_;
  const OnLine on_line_;
  std::shared_ptr<Console> console_;
  bool beginning_ = false;
  bool files_finished_ = false;
  std::vector<Source> sources_;
  std::uint64_t feeds_ = 0;
  bool reported_ = false;
  bool all_reported_ = false;
  std::vector<Error> unreported_ = {};
  bool lost_files_reported_ = false;
  bool noted_fold_ = false;
};

Result<std::unique_ptr<Output>> Output::open(const OutputSettings& settings, std::vector<RankFacts> ranks,
                                             StandardStreams& streams, OnLine on_line) {
  auto impl = std::make_unique<Impl>(settings, std::move(ranks), streams, std::move(on_line));
  TRY(impl->open());
  return std::unique_ptr<Output>(new Output(std::move(impl)));
}

Output::Output(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Output::~Output() = default;

Result<void> Output::claim(const sys::Wait& wait) { return impl_->claim(wait); }
void Output::begin(Time now) { impl_->begin(now); }
std::optional<Result<void>> Output::begun(Time now) { return impl_->begun(now); }

std::string Output::step() const { return impl_->step(); }
void Output::close_files() {
  if (impl_->files) impl_->files->close_round();
}

std::string Output::overwritten() const { return impl_->files ? impl_->files->overwritten() : ""; }
Result<void> Output::add(const std::vector<RankFacts>& ranks) { return impl_->add(ranks); }
bool Output::ready(int rank, Stream stream) const { return impl_->ready(rank, stream); }
std::size_t Output::most_fed() const { return impl_->folds() ? kMostFolded : SIZE_MAX; }
void Output::feed(int rank, Stream stream, std::string_view bytes, Time now, std::int64_t wall_ns) {
  impl_->feed(rank, stream, bytes, {now, wall_ns});
}
void Output::end(int rank, Stream stream, Time now) { impl_->end(rank, stream, now); }
void Output::rank_started(int rank, int pid) { impl_->rank_started(rank, pid); }
void Output::rank_ended(int rank) {
  if (impl_->files) impl_->files->rank_ended(rank);
}
std::vector<FdWriter*> Output::waiting() const { return impl_->waiting(); }
StandardStreams& Output::streams() const { return impl_->streams; }
void Output::flush(FdWriter& writer, Time now) { impl_->flush(writer, now); }
int Output::event_fd() const { return impl_->files ? impl_->files->event_fd() : -1; }
void Output::handle_writer_events() {
  impl_->files->handle_writer_events();
  impl_->check_files();
}
void Output::finish_files(std::optional<int> failed) { impl_->finish_files(failed); }
bool Output::files_settled() const { return !impl_->files || impl_->files->settled(); }
std::uint64_t Output::files_progress() const { return impl_->files ? impl_->files->progress() : 0; }
void Output::give_up_files(Time now) { impl_->give_up_files(now); }
void Output::give_up_console(Time now) { impl_->give_up_console(now); }
std::optional<Time> Output::deadline() const { return impl_->shared.timers.deadline(); }
void Output::tick(Time now) { impl_->tick(now); }
std::optional<Error> Output::take_error() {
  if (impl_->write_errors.empty()) return std::nullopt;
  Error first = std::move(impl_->write_errors.front());
  impl_->write_errors.pop_front();
  return first;
}
std::string Output::bars() const { return impl_->bars(); }
bool Output::take_fold_note() { return impl_->take_fold_note(); }
bool Output::reader_gone() const { return impl_->reader_gone; }
LastLines Output::last_lines(int rank) const { return impl_->last_lines(rank); }
LastLines Output::newest_lines(int rank) const { return impl_->newest_lines(rank); }
std::uint64_t Output::bytes(int rank, Stream stream) const { return impl_->bytes(rank, stream); }
std::string Output::path(int rank, Stream stream) const { return impl_->path(rank, stream); }

}  // namespace dlaunch::output
