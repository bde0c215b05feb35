#include "report/record_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/time.h"
#include "base/try.h"
#include "report/write_file.h"
#include "sys/held_directory.h"
#include "sys/io.h"

namespace dlaunch::report {

std::string kept_record(const std::string& path, int attempt) { return path + ".attempt." + std::to_string(attempt); }

namespace {

constexpr char kWritten = '\n';  // the answer after a success
constexpr std::chrono::milliseconds kAnswerTime{500};
constexpr unsigned kStacksMode = 0600;  // stacks have names of files and functions, and the first bytes of arguments

/// The attempt that wrote this record; nullopt if the text is not a record with an attempt.
std::optional<int> attempt_of(const std::string& path) {
  std::ifstream file(path);
  const auto record = nlohmann::json::parse(file, nullptr, false);
  if (!record.is_object() || !record.contains("attempt") || !record["attempt"].is_number_integer()) return std::nullopt;
  return record["attempt"].get<int>();
}

/// Renames the record of an earlier attempt. If another file has the name, the name gets a number.
void keep_record(const std::string& path, int attempt, sys::HelperProcess::Ends ends) {
  const sys::HeldPlace place = sys::HeldPlace::of(path);
  const auto facts = place ? place.directory.facts_of(place.name) : std::nullopt;
  if (!facts || !S_ISREG(facts->st_mode)) return;
  const int earlier = attempt_of(path).value_or(attempt - 1);
  if (earlier == attempt) return;
  const std::string name = kept_record(place.name, earlier);
  std::string kept = name;
  for (int number = 2; place.directory.facts_of(kept); ++number) kept = name + '.' + std::to_string(number);
  if (!ends.gave_up()) place.directory.rename(place.name, kept);
}

/// Sends nothing after a success.
void write_and_answer(const std::string& path, const std::string& text, WriteAs as, sys::HelperProcess::Ends ends) {
  as.ends = ends;
  const auto wrote = write_file_atomically(path, text, as);
  if (!wrote) send_error(wrote.error(), ends.out);
}

/// A process that waits for the disk removes its new file when the disk responds.
void give_up(sys::HelperProcess& writer) {
  if (writer.wait(std::chrono::milliseconds(0))) return;
  writer.close_in();
  writer.leave();
}

Result<void> await_writer(sys::HelperProcess& writer, const std::string& path, int exit_code, const sys::Wait& wait) {
  const auto why = writer.read_all(kWriterWait, nullptr, std::string::npos, wait);
  if (!why) return fail(no_answer(path));
  writer.wait(kWriterWait);
  if (why->empty()) return {};
  return fail(received_error(path, *why, exit_code));
}

}  // namespace

Result<void> PidFile::claim(const sys::Wait& wait) {
  if (!path_.empty()) claim_ = TRY(FileClaim::take(path_, WriteAs().mode, wait));
  return {};
}

Result<void> PidFile::write(const sys::Wait& wait) {
  if (!claim_) return {};
  const std::string text = std::to_string(::getpid()) + '\n';
  const WriteAs as{.claimed = true, .until = Clock::now() + kWriterWait - kAnswerTime};
  auto writer = sys::HelperProcess::start(
      [&](sys::HelperProcess::Ends ends) { write_and_answer(path_, text, as, ends); }, wanted_by(path_));
  if (!writer) return fail(cannot_start(path_, errno));
  return await_writer(*writer, path_, kExitRefused, wait);
}

RecordFile::RecordFile(std::string path, unsigned mode) : path_(std::move(path)), mode_(mode) {}

/// The writer of a pipe or a device is killed.
RecordFile::~RecordFile() {
  if (!claim_ || !claim_->replaced()) return;
  if (early_) give_up(*early_);
  if (writer_) give_up(*writer_);
}

Result<void> RecordFile::claim(const sys::Wait& wait) {
  if (!path_.empty()) claim_ = TRY(FileClaim::take(path_, mode_, wait));
  return {};
}

/// The work of the process that writes the record.
void RecordFile::replace(const std::string& text, WriteAs as, sys::HelperProcess::Ends ends) const {
  if (!wrote_early_ && attempt_ > 0) keep_record(path_, attempt_, ends);
  as.mode = mode_;
  as.claimed = claim_ != nullptr;
  write_and_answer(path_, text, as, ends);
}

void RecordFile::write_early(const std::string& text) {
  if (claim_ && wrote_early_) claim_->prepare_again();
  auto writer = sys::HelperProcess::start([&](sys::HelperProcess::Ends ends) { replace(text, {.until = {}}, ends); });
  if (!writer) return;
  if (early_) give_up(*early_);  // of an earlier round
  early_.emplace(*std::move(writer));
  wrote_early_ = true;
}

void RecordFile::write(std::string text, Time until) {
  text_ = std::move(text);
  until_ = until - kAnswerTime;
  result_.reset();
}

/// The early record must not replace the later record.
int RecordFile::step() {
  if (early_ && !early_->wait(std::chrono::milliseconds(1))) return early_->out().get();
  early_.reset();
  if (!writer_ && !result_) start_writer();
  if (result_) return -1;
  if (!writer_->receive(answer_)) return writer_->out().get();
  result_ = answer_.empty() ? Result<void>() : fail(received_error(path_, answer_, kExitOutput));
  return -1;
}

void RecordFile::start_writer() {
  if (claim_ && wrote_early_) claim_->prepare_again();
  auto writer = sys::HelperProcess::start(
      [&](sys::HelperProcess::Ends ends) { replace(text_, {.durable = true, .until = until_}, ends); },
      wanted_by(path_));
  if (writer) {
    writer_.emplace(*std::move(writer));
    return;
  }
  Error error = cannot_start(path_, errno);
  error.exit_code = kExitOutput;
  result_ = fail(std::move(error));
}

Result<void> RecordFile::written(Duration waited) {
  if (claim_) claim_->close();
  return result_ ? *result_ : fail(no_answer(path_, waited));
}

StacksFiles::~StacksFiles() {
  const Time until = Clock::now() + kWait;
  for (File& file : files_) {
    if (!file.writer_.wait(std::chrono::milliseconds(milliseconds_until(until)))) give_up(file.writer_);
  }
}

StacksFiles::File* StacksFiles::write(const std::string& text) {
  if (base_.empty() || written_ == kMost) return nullptr;
  std::string path = base_ + std::to_string(++written_);
  auto writer = sys::HelperProcess::start([&](sys::HelperProcess::Ends ends) {
    write_and_answer(path, text, {.mode = kStacksMode}, ends);
    sys::write_all(ends.out, {&kWritten, 1});
  });
  return writer ? &files_.emplace_back(std::move(path), *std::move(writer)) : nullptr;
}

bool StacksFiles::File::ended() {
  ended_ = ended_ || writer_.receive(answer_);
  return ended_;
}

std::string StacksFiles::File::written() { return ended() && answer_ == std::string_view(&kWritten, 1) ? path_ : ""; }

std::string StacksFiles::File::describe() {
  if (!ended()) return "not written yet: " + path_;
  if (!written().empty()) return path_;
  const bool killed = answer_.empty();
  return "cannot write " + path_ + ": " +
         (killed ? "the process that writes the file was killed" : received_error(path_, answer_, kExitOutput).why);
}

}  // namespace dlaunch::report
