// Command lines that lead to hosts, and how they are ended.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "transport/command.h"

namespace dlaunch::transport {

enum class Ending {
  by_signal,
  by_itself,  ///< commands that must not be signalled: those that have not ended in time are told and left
};

class RunningCommands {
 public:
  void add(Command command, std::string host) { children_.push_back({std::move(command), std::move(host)}); }
  /// To be called once their streams are closed. Ends all that do not end by themselves, in at most 3 s; those that
  /// must end by themselves get 10 s. `note` is told of those that could not be ended; it may be empty.
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
