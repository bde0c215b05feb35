#include "report/record_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/text.h"
#include "report/write_file.h"
#include "sys/clock.h"
#include "sys/descendants.h"
#include "sys/fd.h"
#include "sys/files.h"
#include "sys/held_directory.h"
#include "sys/io.h"

namespace dlaunch::report {
std::string kept_record(const std::string& path, int attempt) { return path + ".attempt." + std::to_string(attempt); }

namespace {

constexpr unsigned kStacksMode = 0600;  // stacks have names of files and functions, and the first bytes of arguments
constexpr std::chrono::seconds kRecordWait{10};
constexpr unsigned kMode = 0600;  // the record has command lines and paths

constexpr std::size_t kPidFile = 32;

constexpr char kReplaced = 'r';
constexpr char kDirect = 'd';

sys::HelperProcess::Inherited wanted_by(const std::string& path) {
  return named_descriptor(path) ? sys::HelperProcess::Inherited::kept : sys::HelperProcess::Inherited::closed;
}

Error no_answer(const std::string& path, int exit_code = kExitOutput) {
  return {"", "cannot write " + path, "timed out after 10 s", "use a path on a disk that responds", exit_code};
}

Error cannot_start(const std::string& path, int error) {
  return {path, "cannot start the process that writes the file", std::strerror(error),
          "set higher limits of processes and open files: ulimit -u, ulimit -n", kExitRefused};
}

void keep_record(const std::string& path, int attempt) {
  const sys::HeldPlace place = sys::HeldPlace::of(path);
  const auto facts = place ? place.directory.facts_of(place.name) : std::nullopt;
  if (!facts || !S_ISREG(facts->st_mode)) return;
  const std::string kept = kept_record(place.name, attempt);
  if (!place.directory.facts_of(kept)) place.directory.rename(place.name, kept);
}

/// A helper process sends the reason of a failure and the hint.
void tell(const Error& error, int to) { sys::write_all(to, error.why + '\n' + error.hint); }

Error told(const std::string& path, const std::string& answer, int exit_code) {
  const std::size_t end = std::min(answer.find('\n'), answer.size() - 1);
  return {"", "cannot write " + path, answer.substr(0, end), answer.substr(end + 1), exit_code};
}

/// Sends nothing after a success.
void write_and_tell(const std::string& path, const std::string& text, WriteAs as, int to) {
  const auto wrote = write_file_atomically(path, text, as);
  if (!wrote) tell(wrote.error(), to);
}

/// A link to dlaunch has another name. The program of another user's process is unknown.
bool runs_same_program(const sys::Process& a, const sys::Process& b) {
  const auto program = [](const sys::Process& of) {
    return sys::link_target("/proc/" + std::to_string(of.pid) + "/exe");
  };
  const std::string of_a = program(a);
  return of_a.empty() ? a.name == b.name : of_a == program(b);
}

/// The launcher that wrote the pid file, if it still runs; else 0. A later process with this pid, or a process of
/// another host, is not older than the file, or has another name.
int running_writer(const std::string& path) {
  const auto pid = parse_int(trim(sys::read_regular_file(path, kPidFile).value_or("")), 1, INT_MAX);
  struct stat facts{};
  if (!pid || ::stat(path.c_str(), &facts) != 0) return 0;
  const auto process = sys::find_process(static_cast<int>(*pid));
  const auto own = sys::find_process(::getppid());
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  if (!process || !own || process->pid == own->pid || !runs_same_program(*process, *own)) return 0;
  const auto started = static_cast<long>(process->start_time) / ::sysconf(_SC_CLK_TCK);
  const auto age = std::chrono::nanoseconds(sys::wall_ns()) - std::chrono::seconds(facts.st_mtim.tv_sec);
  return std::chrono::seconds(now.tv_sec - started + 1) >= age ? process->pid : 0;
}

Result<void> await_writer(sys::HelperProcess& writer, const std::string& path, int exit_code) {
  const auto why = writer.read_all(kRecordWait);
  if (!why) return fail(no_answer(path, exit_code));
  writer.wait(kRecordWait);
  if (why->empty()) return {};
  return fail(told(path, *why, exit_code));
}

}  // namespace

Result<void> write_pid(const std::string& path) {
  const std::string text = std::to_string(::getpid()) + '\n';
  auto writer = sys::HelperProcess::start(
      [&](sys::HelperProcess::Ends ends) {
        const int other = running_writer(path);
        if (other == 0) return write_and_tell(path, text, {}, ends.out);
        tell({"", "", "process " + std::to_string(other) + ", the launcher of a running job, wrote this file",
              "use another path, or wait for the other job to end"},
             ends.out);
      },
      wanted_by(path));
  if (!writer) return fail(cannot_start(path, errno));
  return await_writer(*writer, path, kExitRefused);
}

RecordFile::RecordFile(std::string path) : path_(std::move(path)) {}

Result<void> RecordFile::prepare(int attempt) {
  auto helper = sys::HelperProcess::start(
      [&](sys::HelperProcess::Ends ends) {
        const auto can = check_can_write(path_);
        if (can && attempt > 0) keep_record(path_, attempt - 1);
        if (!can) return tell(can.error(), ends.out);
        sys::write_all(ends.out, std::string(1, is_replaced(path_) ? kReplaced : kDirect));
      },
      wanted_by(path_));
  if (!helper) return fail(cannot_start(path_, errno));
  const auto answer = helper->read_all(kRecordWait);
  if (!answer) return fail(no_answer(path_, kExitRefused));
  if (answer->size() == 1) {
    replaced_ = answer->front() == kReplaced;
    return {};
  }
  return fail(told(path_, *answer, kExitRefused));
}

void RecordFile::write_early(const std::string& text) {
  auto writer = sys::HelperProcess::start(
      [&](sys::HelperProcess::Ends ends) { write_and_tell(path_, text, {kMode, false}, ends.out); });
  if (writer) early_.emplace(*std::move(writer));
}

Result<void> RecordFile::write(const std::string& text) {
  if (early_ && !early_->wait(kRecordWait))
    return fail(no_answer(path_));  // otherwise the early record would replace the later record
  auto writer = sys::HelperProcess::start(
      [&](sys::HelperProcess::Ends ends) { write_and_tell(path_, text, {kMode, true}, ends.out); }, wanted_by(path_));
  if (!writer) {
    Error error = cannot_start(path_, errno);
    error.exit_code = kExitOutput;
    return fail(std::move(error));
  }
  return await_writer(*writer, path_, kExitOutput);
}

StacksFiles::~StacksFiles() {
  for (sys::HelperProcess& writer : writers_) writer.wait(kWait);
}

std::string StacksFiles::write(const std::string& text) {
  if (base_.empty() || written_ == kMost) return {};
  std::string path = base_ + std::to_string(++written_);
  auto writer = sys::HelperProcess::start(
      [&](sys::HelperProcess::Ends) { static_cast<void>(write_file_atomically(path, text, {kStacksMode, false})); });
  if (!writer) return {};
  writers_.push_back(*std::move(writer));
  return path;
}

}  // namespace dlaunch::report
