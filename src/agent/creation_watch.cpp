#include "agent/creation_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace dlaunch::agent {
namespace {

constexpr std::size_t kReadSize = 16u << 10;
constexpr unsigned kEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_OPEN | IN_CLOSE | IN_ONLYDIR;

}  // namespace

CreationWatch::CreationWatch(const std::string& directory, std::function<bool(std::string_view)> wanted)
    : directory_(directory), wanted_(std::move(wanted)) {}

void CreationWatch::start() {
  events_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (events_ && ::inotify_add_watch(events_.get(), directory_.c_str(), kEvents) < 0) events_.reset();
}

void CreationWatch::drain() {
  alignas(inotify_event) char buffer[kReadSize];
  while (events_) {
    const ssize_t size = ::read(events_.get(), buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof event);
      const char* const name = buffer + at + sizeof event;
      take(event.len > 0 ? std::string_view(name) : std::string_view(), event.mask);
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
}

void CreationWatch::take(std::string_view name, unsigned mask) {
  if ((mask & (IN_Q_OVERFLOW | IN_IGNORED)) != 0) {
    for (auto& [file, history] : files_) history.whole = false;
  }
  if (name.empty() || (mask & IN_ISDIR) != 0 || !wanted_(name)) return;
  const auto found = files_.find(name);
  if ((mask & IN_CREATE) != 0) {
    if (found != files_.end()) {
      found->second = {};
    } else if (files_.size() < kMostFiles) {
      files_.emplace(name, History{});
    }
  } else if (found == files_.end()) {
    return;
  } else if ((mask & (IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)) != 0) {
    files_.erase(found);
  } else if ((mask & IN_OPEN) != 0) {
    ++found->second.opens;
  } else if ((mask & IN_CLOSE) != 0) {
    found->second.whole = false;
  }
}

CreationWatch::History* CreationWatch::of(const std::string& name) {
  const auto found = files_.find(name);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace dlaunch::agent
