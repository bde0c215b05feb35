#include "report/file_claim.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "base/try.h"
#include "output/file_layout.h"
#include "report/write_file.h"
#include "sys/file_lock.h"
#include "sys/held_directory.h"
#include "sys/inherited.h"
#include "sys/io.h"

namespace dlaunch::report {
namespace {

constexpr std::chrono::seconds kRemoveWait{1};
constexpr int kAttempts = 16;  // other jobs may create and remove the same file
constexpr char kReplaced = 'r';
constexpr char kDirect = 'd';
constexpr char kNext = 'n';

tl::unexpected<Error> locked(const std::string& path, sys::LockHolder holder) {
  return fail(
      {"", "cannot write " + path, sys::writes_there(holder), "use another path, or wait for the other job to end"});
}

bool leads_to(const sys::HeldPlace& place, const std::string& name, const sys::Fd& file) {
  struct stat facts{};
  const auto named = place.directory.facts_of(name);
  return named && ::fstat(file.get(), &facts) == 0 && sys::is_same(facts, *named);
}

/// The locks of a claim, in the process that holds them.
class Locks {
 public:
  explicit Locks(const std::string& path) : path_(path) {}

  Result<void> take(unsigned mode) {
    TRY(check_can_write(path_));
    if (sys::named_descriptor(path_)) return {};
    place_ = sys::HeldPlace::of(path_);
    next_name_ = output::claimed_name(place_.name);
    if (is_replaced(path_)) TRY(create_next(mode));
    auto present = lock_present();
    if (!present) remove_next();
    return present;
  }

  bool any() const { return next_ || present_; }

  /// The last new file has replaced the file, which stays locked, or was removed after a failed write.
  void prepare_again(unsigned mode) {
    if (!next_ || leads_to(place_, next_name_, next_)) return;
    if (leads_to(place_, place_.name, next_)) present_ = std::move(next_);
    next_.reset();
    std::ignore = create_next(mode);  // a failure is reported by the next write
  }

  void remove_next() {
    if (next_ && leads_to(place_, next_name_, next_)) place_.directory.remove_file(next_name_);
  }

 private:
  Result<void> create_next(unsigned mode) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      TRY(remove_unlocked());
      sys::Fd made = place_.directory.open_file(next_name_, O_WRONLY | O_CREAT | O_EXCL, mode);
      if (!made && errno != EEXIST) return cannot_write(path_, errno);
      // Another job may have taken the new file for an unlocked one.
      if (!made || sys::lock_file(made.get()) || !leads_to(place_, next_name_, made)) continue;
      next_ = std::move(made);
      return {};
    }
    return locked(path_, {});
  }

  /// The machine of an earlier job may have failed before the job could remove its file.
  Result<void> remove_unlocked() {
    const sys::Fd other = place_.directory.open_file(next_name_, O_RDONLY | O_NONBLOCK);
    if (!other) return errno == ENOENT ? Result<void>() : cannot_write(path_, errno);
    if (const auto holder = sys::lock_file(other.get())) return locked(path_, *holder);
    if (leads_to(place_, next_name_, other)) place_.directory.remove_file(next_name_);
    return {};
  }

  /// Locks the file that exists, or that a link leads to. A file that cannot be read can be replaced nevertheless.
  Result<void> lock_present() {
    struct stat facts{};
    if (::stat(path_.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
    present_ = sys::open_file_at(place_, O_RDONLY | O_NONBLOCK, 0);
    if (!present_) return {};
    const auto holder = sys::lock_file(present_.get());
    return holder ? locked(path_, *holder) : Result<void>();
  }

  const std::string path_;
  sys::HeldPlace place_;
  std::string next_name_;
  sys::Fd next_;
  sys::Fd present_;
};

/// The work of the process: answers with one character, or sends the failure. Ends with its input.
void hold(const std::string& path, unsigned mode, sys::HelperProcess::Ends ends) {
  Locks locks(path);
  if (const auto taken = locks.take(mode); !taken) return send_error(taken.error(), ends.out);
  sys::write_all(ends.out, std::string(1, is_replaced(path) ? kReplaced : kDirect));
  ::shutdown(ends.out, SHUT_RDWR);
  char next = 0;
  for (ssize_t got = 1; locks.any() && got != 0; got = TEMP_FAILURE_RETRY(::read(ends.in, &next, 1))) {
    if (got < 0) break;
    if (next == kNext) locks.prepare_again(mode);
  }
  locks.remove_next();
}

}  // namespace

Result<std::unique_ptr<FileClaim>> FileClaim::take(const std::string& path, unsigned mode, const sys::Wait& wait) {
  auto holder =
      sys::HelperProcess::start([&](sys::HelperProcess::Ends ends) { hold(path, mode, ends); }, wanted_by(path));
  if (!holder) return fail(cannot_start(path, errno));
  const auto answer = holder->read_all(kWriterWait, nullptr, std::string::npos, wait);
  if (!answer || answer->empty()) {
    holder->leave();  // removes its file when the disk responds
    return fail(no_answer(path));
  }
  if (answer->size() > 1) {
    holder->wait(kWriterWait);
    return fail(received_error(path, *answer, kExitRefused));
  }
  return std::unique_ptr<FileClaim>(new FileClaim(*std::move(holder), answer->front() == kReplaced));
}

void FileClaim::prepare_again() { sys::write_all(holder_.in().get(), {&kNext, 1}); }

void FileClaim::close() {
  if (!closed_at_) closed_at_ = Clock::now();
  holder_.close_in();
}

FileClaim::~FileClaim() {
  close();
  if (!holder_.wait(std::chrono::milliseconds(milliseconds_until(*closed_at_ + kRemoveWait)))) holder_.leave();
}

sys::HelperProcess::Inherited wanted_by(const std::string& path) {
  return sys::named_descriptor(path) ? sys::HelperProcess::Inherited::kept : sys::HelperProcess::Inherited::closed;
}

void send_error(const Error& error, int to) { sys::write_all(to, error.why + '\n' + error.hint); }

Error received_error(const std::string& path, const std::string& answer, int exit_code) {
  const std::size_t end = std::min(answer.find('\n'), answer.size() - 1);
  return {"", "cannot write " + path, answer.substr(0, end), answer.substr(end + 1), exit_code};
}

Error no_answer(const std::string& path, Duration longest) {
  return {"", "cannot write " + path,
          "timed out after " + std::to_string(std::chrono::round<std::chrono::seconds>(longest).count()) + " s",
          "use a path on a disk that responds", kExitOutput};
}

Error cannot_start(const std::string& path, int error) {
  return {path, "cannot start the process that writes the file", std::strerror(error),
          "set higher limits of processes and open files: ulimit -u, ulimit -n", kExitRefused};
}

}  // namespace dlaunch::report
