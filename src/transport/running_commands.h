// Commands that connect to hosts, and their termination. Not thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "transport/command.h"

namespace dlaunch::transport {

enum class Ending {
  by_signal,
  by_itself,  ///< by_itself: commands that must not be signalled; late commands are reported and keep running
};

class RunningCommands {
 public:
  void add(Command command, std::string host) { children_.push_back({std::move(command), std::move(host)}); }
  /// Call after the streams are closed. Ends the remaining commands within 3 s; commands that must exit by themselves
  /// get 10 s. `note` receives a line for each command that could not be ended; may be empty.
  void end(Ending ending, const std::function<void(const std::string&)>& note);

 private:
  struct Child {
    Command command;
    std::string host;
  };
  bool end_all(Ending ending);
  bool wait_for_all(std::chrono::milliseconds limit);
  void signal_all(int signal);

  std::vector<Child> children_;
};

}  // namespace dlaunch::transport
