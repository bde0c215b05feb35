// Notes for the user from the hosts' threads; each text is passed on once. Thread-safe; shared by the threads and the
// transport.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>

namespace dlaunch::transport::ssh {

class Notes {
 public:
  explicit Notes(std::function<void(const std::string&)> listener);
  void tell(const std::string& note);
  /// Stops passing on notes.
  void end();

 private:
  std::mutex mutex_;
  std::function<void(const std::string&)> listener_;
  std::set<std::string> shown_;
};

}  // namespace dlaunch::transport::ssh
