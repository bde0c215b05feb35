#include "chaos/run/undo.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>

#include "chaos/run/interface.h"
#include "sys/held_directory.h"
#include "sys/io.h"

namespace dlaunch::chaos {
namespace {

constexpr std::chrono::seconds kUndoWait{5};
constexpr int kTries = 20;
constexpr std::chrono::milliseconds kPause{100};

constexpr struct stat kNothing{};

constexpr const char* kCut = "cut";
constexpr const char* kSlow = "slow";

/// Reads "PID START\n", "cut INTERFACE\n" and "slow INTERFACE\n" until the pipe ends, then undoes each, and removes the
/// directory.
void undo_at_the_end(int in, const std::string& directory, const struct stat& made, const std::string& handle) {
  std::string all;
  char some[4096];
  for (;;) {
    const ssize_t size = ::read(in, some, sizeof some);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    all.append(some, static_cast<size_t>(size));
  }
  std::istringstream words(all);
  std::string first, second;
  while (words >> first >> second) {
    if (first == kCut) {
      bring_up(second);
    } else if (first == kSlow) {
      speed_up(second, handle);
    } else {
      sys::Process process;
      process.pid = std::atoi(first.c_str());
      process.start_time = std::strtoull(second.c_str(), nullptr, 10);
      sys::signal_process(process, SIGCONT);
    }
  }
  const sys::HeldPlace place = sys::HeldPlace::of(directory);
  const auto is_own = [&](const struct stat& its) { return sys::is_same(its, made); };
  for (int tries = 0; place && tries < kTries; ++tries) {  // a launcher may write its record there meanwhile
    if (tries > 0) std::this_thread::sleep_for(kPause);
    const int error = place.directory.remove_directory(place.name, is_own);
    if (error == 0 || error == ENOENT || error == EPERM) return;
  }
}

}  // namespace

Undo::Undo(const std::string& directory)
    : handle_(draw_handle()), child_(sys::HelperProcess::start([&](sys::HelperProcess::Ends ends) {
        const auto made = sys::HeldDirectory::open(directory).facts();
        undo_at_the_end(ends.in, directory, made.value_or(kNothing), handle_);
      })) {}

Undo::~Undo() {
  if (!child_) return;
  child_->close_in();
  child_->wait(kUndoWait);
}

bool Undo::stop(const std::vector<sys::Process>& processes) {
  std::string list;
  for (const sys::Process& each : processes) {
    list += std::to_string(each.pid) + ' ' + std::to_string(each.start_time) + '\n';
  }
  if (!child_ || !sys::write_all(child_->in().get(), list)) return false;
  for (const sys::Process& each : processes) sys::signal_process(each, SIGSTOP);
  return true;
}

bool Undo::note(const Fault& fault) {
  const std::string line = (fault.what == FaultKind::cut ? kCut : kSlow) + (' ' + fault.target.interface) + '\n';
  return child_ && sys::write_all(child_->in().get(), line);
}

void Undo::go_on(const std::vector<sys::Process>& processes) {
  for (const sys::Process& each : processes) sys::signal_process(each, SIGCONT);
}

}  // namespace dlaunch::chaos
