#include "report/record_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/time.h"
#include "base/try.h"
#include "report/write_file.h"
#include "sys/held_directory.h"

namespace dlaunch::report {

std::string kept_record(const std::string& path, int attempt) { return path + ".attempt." + std::to_string(attempt); }

namespace {

constexpr unsigned kStacksMode = 0600;  // stacks have names of files and functions, and the first bytes of arguments

void keep_record(const std::string& path, int attempt) {
  const sys::HeldPlace place = sys::HeldPlace::of(path);
  const auto facts = place ? place.directory.facts_of(place.name) : std::nullopt;
  if (!facts || !S_ISREG(facts->st_mode)) return;
  const std::string kept = kept_record(place.name, attempt);
  if (!place.directory.facts_of(kept)) place.directory.rename(place.name, kept);
}

/// Sends nothing after a success.
void write_and_answer(const std::string& path, const std::string& text, WriteAs as, int to) {
  const auto wrote = write_file_atomically(path, text, as);
  if (!wrote) send_error(wrote.error(), to);
}

Result<void> await_writer(sys::HelperProcess& writer, const std::string& path, int exit_code) {
  const auto why = writer.read_all(kWriterWait);
  if (!why) return fail(no_answer(path, exit_code));
  writer.wait(kWriterWait);
  if (why->empty()) return {};
  return fail(received_error(path, *why, exit_code));
}

}  // namespace

Result<void> PidFile::claim() {
  if (!path_.empty()) claim_ = TRY(FileClaim::take(path_, WriteAs().mode));
  return {};
}

Result<void> PidFile::write() {
  if (!claim_) return {};
  const std::string text = std::to_string(::getpid()) + '\n';
  auto writer = sys::HelperProcess::start(
      [&](sys::HelperProcess::Ends ends) { write_and_answer(path_, text, {.claimed = true}, ends.out); },
      wanted_by(path_));
  if (!writer) return fail(cannot_start(path_, errno));
  return await_writer(*writer, path_, kExitRefused);
}

RecordFile::RecordFile(std::string path, unsigned mode) : path_(std::move(path)), mode_(mode) {}

Result<void> RecordFile::claim() {
  if (!path_.empty()) claim_ = TRY(FileClaim::take(path_, mode_));
  return {};
}

/// The work of the process that writes the record.
void RecordFile::replace(const std::string& text, bool durable, int answer_to) const {
  if (!early_ && attempt_ > 0) keep_record(path_, attempt_ - 1);
  write_and_answer(path_, text, {.mode = mode_, .durable = durable, .claimed = !early_}, answer_to);
}

void RecordFile::write_early(const std::string& text) {
  auto writer = sys::HelperProcess::start([&](sys::HelperProcess::Ends ends) { replace(text, false, ends.out); });
  if (writer) early_.emplace(*std::move(writer));
}

Result<void> RecordFile::write(const std::string& text) {
  if (early_ && !early_->wait(kWriterWait))
    return fail(no_answer(path_, kExitOutput));  // otherwise the early record would replace the later record
  auto writer = sys::HelperProcess::start([&](sys::HelperProcess::Ends ends) { replace(text, true, ends.out); },
                                          wanted_by(path_));
  if (!writer) {
    Error error = cannot_start(path_, errno);
    error.exit_code = kExitOutput;
    return fail(std::move(error));
  }
  return await_writer(*writer, path_, kExitOutput);
}

StacksFiles::~StacksFiles() {
  const Time until = Clock::now() + kWait;
  for (sys::HelperProcess& writer : writers_) writer.wait(std::chrono::milliseconds(milliseconds_until(until)));
}

std::string StacksFiles::write(const std::string& text) {
  if (base_.empty() || written_ == kMost) return {};
  std::string path = base_ + std::to_string(++written_);
  auto writer = sys::HelperProcess::start(
      [&](sys::HelperProcess::Ends) { static_cast<void>(write_file_atomically(path, text, {.mode = kStacksMode})); });
  if (!writer) return {};
  writers_.push_back(*std::move(writer));
  return path;
}

}  // namespace dlaunch::report
