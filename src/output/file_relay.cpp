#include "output/file_relay.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <ctime>
#include <limits>
#include <string_view>
#include <vector>

#include "sys/io.h"

namespace dlaunch::output {
namespace {

constexpr std::size_t kReadSize = 256 * 1024;
constexpr timespec kLook{0, 200'000};  // a disk that responds takes less time
constexpr std::chrono::milliseconds kExitWait{1000};

/// Keeps only `file` of descriptors 0 to 2: readers of the others must not wait for this process.
void close_others(int file) {
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; nowhere >= 0 && fd <= 2; ++fd) {
    if (fd != file) ::dup2(nowhere, fd);
  }
}

/// Returns the errno of the write, or 0.
int write_whole(int file, std::string_view bytes, std::atomic<std::uint64_t>& written) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
      written += static_cast<std::uint64_t>(n);
    } else if (!sys::may_write_again(file)) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

FileRelay::~FileRelay() {
  if (process_) process_->leave();
}

void FileRelay::run(int pipe, int file, Progress& progress) {
  close_others(file);
  std::vector<char> buffer(kReadSize);
  for (;;) {
    const ssize_t got = ::read(pipe, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    const int error = write_whole(file, {buffer.data(), static_cast<std::size_t>(got)}, progress.written);
    progress.error = error;
    if (error != 0) return;
  }
}

int FileRelay::start(int file) {
  progress_ = sys::SharedObject<Progress>::make();
  if (!progress_) return -1;
  auto process = sys::HelperProcess::start([&](sys::HelperProcess::Ends ends) { run(ends.in, file, *progress_); },
                                           sys::HelperProcess::Inherited::kept);
  if (!process) return -1;
  process_.emplace(*std::move(process));
  pid_ = process_->pid();
  sys::set_nonblocking(process_->in().get());
  return process_->in().get();
}

int FileRelay::error() const { return progress_ ? progress_->error.load() : 0; }

void FileRelay::set_closed() const {
  int none = 0;
  progress_->error.compare_exchange_strong(none, kKilled);
}

bool FileRelay::await(std::uint64_t given, std::chrono::milliseconds longest) const {
  if (!process_) return true;
  const bool in_time = await_end_or(given, longest);
  if (in_time && progress_->written < given) set_closed();
  return in_time;
}

/// Waits until the process has written the first `given` bytes, has failed, or has ended.
bool FileRelay::await_end_or(std::uint64_t given, std::chrono::milliseconds longest) const {
  auto moved = std::chrono::steady_clock::now();
  std::uint64_t before = progress_->written;
  while (before < given && error() == 0) {
    pollfd ended{process_->out().get(), POLLIN, 0};
    if (::ppoll(&ended, 1, &kLook, nullptr) > 0) return true;
    const auto now = std::chrono::steady_clock::now();
    if (const std::uint64_t written = progress_->written; written != before) {
      before = written;
      moved = now;
    }
    if (now - moved >= longest) return false;
  }
  return true;
}

bool FileRelay::finish(std::uint64_t given, std::chrono::milliseconds longest) {
  if (!process_) return true;
  process_->close_in();
  const bool ends = await_end_or(std::numeric_limits<std::uint64_t>::max(), longest);
  if (ends && progress_->written < given) set_closed();
  if (!ends || !process_->wait(kExitWait)) process_->leave();
  process_.reset();
  return ends;
}

}  // namespace dlaunch::output
