#include "output/standard_streams.h"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/printable.h"
#include "base/shared_texts.h"

namespace dlaunch::output {
namespace {

bool same_file(int a, int b) {
  struct stat x{};
  struct stat y{};
  if (fstat(a, &x) != 0 || fstat(b, &y) != 0) return false;
  return a == b || (x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

std::string_view name_of(Stream stream) { return stream == Stream::out ? "stdout" : "stderr"; }

tl::unexpected<Error> cannot_write(Stream stream, int error) {
  const std::string what = "cannot write " + std::string(name_of(stream));
  if (error != FileRelay::kKilled) return fail({"", what, std::strerror(error), "", kExitOutput});
  Error killed = sink_error("write " + std::string(name_of(stream)), error);
  killed.exit_code = kExitOutput;
  return fail(std::move(killed));
}

std::string counted(std::size_t number, std::string_view one, std::string_view several) {
  return std::to_string(number) + ' ' + std::string(number == 1 ? one : several);
}

}  // namespace

StandardStreams::StandardStreams(Fds fds) : fds_(fds), out_(FdWriter::borrowed(fds.out)) {
  if (!same_file(fds.out, fds.err)) err_.emplace(FdWriter::borrowed(fds.err));
}

bool StandardStreams::is_terminal(Stream stream) const { return fds_.terminals.value_or(isatty(fd(stream)) != 0); }

Result<int> StandardStreams::print(std::string_view text, int exit_code) {
  out_.write(text);
  if (out_.error() == 0 || out_.error() == EPIPE) return exit_code;
  return cannot_write(Stream::out, out_.error());
}

void StandardStreams::say(Importance importance, std::string_view lines) {
  if (lines.empty()) return;
  const bool raw = raw_terminal_ && is_terminal(Stream::err);
  std::string text = printable_lines(lines);
  if (raw) {
    std::string returned;
    for (const char c : text) (c == '\n' ? returned += '\r' : returned) += c;
    text = std::move(returned);
  }
  if (drop(importance, text)) return;
  report_dropped();
  showing();
  if (before_saying_) before_saying_();
  FdWriter& err = error_writer();
  if (err.error() != 0) {
    if (importance == Importance::needed) err.write_after_failure(text);
    return;
  }
  if (err.mid_line()) err.write(raw ? "\r\n" : "\n");
  err.write(text);
  if (err.error() != 0 && importance == Importance::needed) err.write_after_failure(text);  // its relay was killed
  if (err.pending() > 0 && on_waiting_) on_waiting_();
}

bool StandardStreams::drop(Importance importance, const std::string& lines) {
  if (importance == Importance::needed || error_writer().pending() + lines.size() <= kMostWaiting) return false;
  std::size_t& dropped = importance == Importance::note ? dropped_.notes : dropped_.verbose;
  dropped += static_cast<std::size_t>(std::ranges::count(lines, '\n'));
  return true;
}

void StandardStreams::report_dropped() {
  const auto [notes, verbose] = std::exchange(dropped_, {});
  if (notes + verbose == 0) return;
  std::string what = notes > 0 ? counted(notes, "note", "notes") : "";
  if (verbose > 0) what += (what.empty() ? "" : " and ") + counted(verbose, "line", "lines") + " of -v";
  say(Importance::needed,
      message("", what + (notes + verbose == 1 ? " was" : " were") + " dropped: stderr was not read in time"));
}

void StandardStreams::overlay(std::string_view bytes) {
  error_writer().overlay(bytes);
  if (error_writer().pending() > 0 && on_waiting_) on_waiting_();
}

std::vector<FdWriter*> StandardStreams::waiting() {
  std::vector<FdWriter*> all;
  if (out_.pending() > 0) all.push_back(&out_);
  if (err_ && err_->pending() > 0) all.push_back(&*err_);
  return all;
}

void StandardStreams::flush(FdWriter& writer) {
  writer.flush();
  if (error_writer().pending() == 0) report_dropped();
}

void StandardStreams::relay_files() {
  for (const Stream stream : {Stream::out, Stream::err}) {
    struct stat facts{};
    if (stream == Stream::err && are_one()) continue;
    if (fstat(fd(stream), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    files_.emplace_back().stream = stream;
    writer(stream).pass_through(files_.back().relay);
  }
}

Result<void> StandardStreams::await_files() {
  for (File& file : files_) {
    FdWriter& writer = this->writer(file.stream);
    const bool in_time = file.relay.await(writer.written(), file.hangs ? std::chrono::seconds(0) : kDiskWait);
    if (const int error = writer.find_relay_error(); error != 0) return cannot_write(file.stream, error);
    if (!in_time) return hangs(file, Lost::nothing);
  }
  return {};
}

Result<void> StandardStreams::finish(File& file) {
  FdWriter& writer = this->writer(file.stream);
  const bool ended = file.relay.finish(writer.written(), file.hangs ? std::chrono::seconds(0) : kDiskWait);
  const int error = writer.find_relay_error();
  writer.leave_relay();
  if (!ended) {
    writer.give_up();  // a write to the file would wait
    return hangs(file, Lost::nothing);
  }
  if (error == 0) return {};
  return cannot_write(file.stream, error);
}

/// An Error the first time.
Result<void> StandardStreams::hangs(File& file, Lost lost) {
  if (std::exchange(file.hangs, true)) return {};
  const std::string process = "process " + std::to_string(file.relay.pid());
  const bool all = lost == Lost::nothing;
  return fail({"", "cannot write " + std::string(name_of(file.stream)),
               std::string(kDiskIsSilent) + (all ? "" : ", and the end of the output is lost"),
               all ? "wait for the end of " + process + ", which writes the remaining output"
                   : "check the file system; " + process + " still writes the earlier output",
               kExitOutput});
}

bool StandardStreams::files_wait() {
  return std::ranges::any_of(files_, [&](const File& file) { return writer(file.stream).pending() > 0; });
}

std::uint64_t StandardStreams::files_progress() const {
  std::uint64_t all = 0;
  for (const File& file : files_) all += file.relay.written();
  return all;
}

Result<void> StandardStreams::give_up(File& file) {
  writer(file.stream).give_up();
  return hangs(file, Lost::the_end);
}

Result<void> StandardStreams::give_up_files() {
  Result<void> done;
  for (File& file : files_) {
    if (writer(file.stream).pending() == 0) continue;
    if (auto lost = give_up(file); !lost && done) done = std::move(lost);
  }
  return done;
}

/// Waits until the file accepts more bytes. Returns false if its disk hangs.
bool StandardStreams::accepts(File& file) {
  pollfd ready{writer(file.stream).poll_fd(), POLLOUT, 0};
  std::uint64_t before = file.relay.written();
  const int longest = static_cast<int>(std::chrono::milliseconds(kDiskWait).count());
  while (poll(&ready, 1, longest) == 0) {
    if (std::exchange(before, file.relay.written()) == before) return false;
  }
  return true;
}

Result<void> StandardStreams::wait_written() {
  report_dropped();
  Result<void> done;
  for (std::vector<FdWriter*> all = waiting(); !all.empty(); all = waiting()) {
    FdWriter& next = *all.front();
    const auto file = std::ranges::find_if(files_, [&](const File& each) { return &writer(each.stream) == &next; });
    if (file == files_.end()) {
      pollfd ready{next.poll_fd(), POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (!accepts(*file)) {
      if (auto lost = give_up(*file); !lost && done) done = std::move(lost);
    }
    flush(next);
  }
  for (File& file : files_) {
    if (auto finished = finish(file); !finished && done) done = std::move(finished);
  }
  return done;
}

void StandardStreams::give_up() {
  dropped_ = {};
  out_.give_up();
  if (err_) err_->give_up();
}

}  // namespace dlaunch::output
