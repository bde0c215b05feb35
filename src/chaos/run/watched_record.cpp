#include "chaos/run/watched_record.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "sys/files.h"
#include "sys/io.h"

namespace dlaunch::chaos {

WatchedRecord::WatchedRecord(std::string path)
    : path_(std::move(path)), watch_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  const auto directory = std::filesystem::path(path_).parent_path();
  if (!watch_ || ::inotify_add_watch(watch_.get(), directory.c_str(), IN_MOVED_TO) < 0) sys::throw_errno("inotify");
}

bool WatchedRecord::read() {
  const std::string name = std::filesystem::path(path_).filename();
  bool written = false;
  alignas(inotify_event) char events[4096];
  for (ssize_t size = 0; (size = ::read(watch_.get(), events, sizeof events)) > 0;) {
    for (ssize_t at = 0; at < size;) {
      const auto* const event = reinterpret_cast<const inotify_event*>(events + at);
      if (event->len > 0 && name == event->name) written = true;
      at += static_cast<ssize_t>(sizeof *event + event->len);
    }
  }
  const auto text = written ? sys::read_file(path_) : std::nullopt;
  auto record = text ? report::read_record(*text, path_) : fail({});
  if (!record) return false;
  last_ = *std::move(record);
  return true;
}

}  // namespace dlaunch::chaos
