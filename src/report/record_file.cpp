#include "report/record_file.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "report/write_file.h"
#include "sys/held_directory.h"
#include "sys/io.h"

namespace dlaunch::report {
namespace {

constexpr std::chrono::seconds kRecordWait{10};
constexpr unsigned kMode = 0600;  // the record has command lines and paths

Error no_answer(const std::string& path) {
  return {"", "cannot write " + path, "timed out after 10 s", "use a path on a disk that responds", kExitOutput};
}

/// Writes the record and sends the reason of a failure, or an empty text.
void write_and_tell(const std::string& path, const std::string& text, bool durable, int to) {
  const auto wrote = write_file_atomically(path, text, {kMode, durable});
  if (!wrote) sys::write_all(to, wrote.error().why);
}

/// All bytes that the process sends until it ends; nullopt if that takes too long.
std::optional<std::string> read_all(const sys::HelperProcess& process, std::chrono::milliseconds longest) {
  std::string all;
  const auto until = std::chrono::steady_clock::now() + longest;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd ready{process.out().get(), POLLIN, 0};
    const int got = left.count() > 0 ? ::poll(&ready, 1, static_cast<int>(left.count())) : 0;
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    char some[256];
    const ssize_t size = ::read(process.out().get(), some, sizeof some);
    if (size <= 0) return all;
    all.append(some, static_cast<size_t>(size));
  }
}

}  // namespace

std::string kept_record(const std::string& path, int attempt) { return path + ".attempt." + std::to_string(attempt); }

RecordFile::RecordFile(std::string path) : path_(std::move(path)), replaced_(!path_.empty() && is_replaced(path_)) {}

void RecordFile::keep_earlier(int attempt) const {
  const sys::HeldPlace place = sys::HeldPlace::of(path_);
  const auto facts = attempt > 0 && place ? place.directory.facts_of(place.name) : std::nullopt;
  if (!facts || !S_ISREG(facts->st_mode)) return;
  const std::string kept = kept_record(place.name, attempt - 1);
  if (!place.directory.facts_of(kept)) place.directory.rename(place.name, kept);
}

void RecordFile::write_early(const std::string& text) {
  auto writer =
      sys::HelperProcess::start([&](sys::HelperProcess::Ends ends) { write_and_tell(path_, text, false, ends.out); });
  if (writer) early_.emplace(*std::move(writer));
}

Result<void> RecordFile::write(const std::string& text) {
  if (early_ && !early_->wait(kRecordWait))
    return fail(no_answer(path_));  // otherwise it would replace the later record
  const auto standard = replaced_ ? sys::HelperProcess::Standard::nowhere : sys::HelperProcess::Standard::kept;
  auto writer = sys::HelperProcess::start(
      [&](sys::HelperProcess::Ends ends) { write_and_tell(path_, text, true, ends.out); }, standard);
  if (!writer) {
    return fail({path_, "cannot start the process that writes the record", std::strerror(errno),
                 "set higher limits of processes and open files: ulimit -u, ulimit -n", kExitOutput});
  }
  const auto why = read_all(*writer, kRecordWait);
  if (!why) return fail(no_answer(path_));
  writer->wait(kRecordWait);
  if (why->empty()) return {};
  return fail({"", "cannot write " + path_, *why, "use a path in a directory that you may write to", kExitOutput});
}

}  // namespace dlaunch::report
