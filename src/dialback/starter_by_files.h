// Starts agents with a resource manager that does not connect a task's stdin and stdout to the launcher, for example
// PBS. The tasks read the bootstrap script, the agent and the contact from files in a directory on a disk shared by the
// nodes, and write their answers there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dialback/agent_starter.h"
#include "dialback/answers.h"
#include "dialback/start_directory.h"
#include "sys/fd.h"

namespace dlaunch::dialback {

class StarterByFiles : public AgentStarter {
 public:
  StarterByFiles(Request request, OnErrors on_errors);

  Result<void> begin(transport::RunningCommands& processes) override;
  Result<void> send_contact(const std::string& line, transport::RunningCommands& processes) override;
  Time connect_by() const override { return connect_by_; }
  void watch(std::vector<pollfd>& polled) const override;
  void turn(const pollfd* polled, Time now) override;
  std::optional<transport::Disconnect> start_failure(const std::string& host) override;
  /// A host's own command may end without its agent: the process that starts its tasks continues.
  bool ended() const override;
  /// The files are no longer needed.
  void settled() override { files_.reset(); }
  void close() override;

 private:
  /// A started command, for this host; an empty name means all hosts.
  struct Started {
    std::string host;
    sys::Fd stream = {};  // its output, which is ignored
    sys::Fd errors = {};
    bool gave_reason = false;
  };

  Result<void> start(const std::string& host, const std::string& command, const std::string& arguments,
                     transport::RunningCommands& processes);
  void read(Started& from);
  void read_answers();
  const Started* command_of(const std::string& host) const;

  const Request request_;
  const OnErrors on_errors_;
  const bool one_for_all_;
  std::optional<StartDirectory> files_;
  std::vector<Started> started_;
  std::optional<Answers> answers_;  // the hosts' files at the last read
  Time next_read_;                  // of these files
  Time connect_by_ = Time::max();
};

}  // namespace dlaunch::dialback
