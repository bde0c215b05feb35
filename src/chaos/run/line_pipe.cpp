#include "chaos/run/line_pipe.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace dlaunch::chaos {
namespace {

constexpr size_t kAtOnce = 64U << 10U;
constexpr size_t kLongestKept = 4096;  // limit of a line; further bytes are passed on without a search

}  // namespace

void LinePipe::read() {
  char bytes[kAtOnce];
  const ssize_t size = ::read(from_.get(), bytes, sizeof bytes);
  if (size < 0 && errno == EINTR) return;
  if (size <= 0) {
    ended_ = true;
    if (!line_.empty()) on_line_(line_);
    return line_.clear();
  }
  waiting_.assign(bytes, static_cast<size_t>(size));
  split(waiting_);
}

/// A writable pipe takes PIPE_BUF bytes without a wait. A missing reader is not an error.
void LinePipe::write() {
  const ssize_t size = ::write(to_, waiting_.data(), std::min<size_t>(waiting_.size(), PIPE_BUF));
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
  waiting_.erase(0, size < 0 ? waiting_.size() : static_cast<size_t>(size));
}

void LinePipe::split(std::string_view bytes) {
  for (size_t end = 0; (end = bytes.find('\n')) != bytes.npos; bytes.remove_prefix(end + 1)) {
    line_.append(bytes.substr(0, std::min(end, kLongestKept)));
    on_line_(line_);
    line_.clear();
  }
  if (line_.size() < kLongestKept) line_.append(bytes.substr(0, kLongestKept));
}

}  // namespace dlaunch::chaos
