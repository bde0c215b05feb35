// Agents that a resource manager starts where neither stdin nor stdout of a task is ours, as PBS does: what they need
// (the bootstrap's script, the agent, the contact) lies in files of a directory on a disk that the nodes share, and
// their answers come there, too.
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
  StarterByFiles(Request request, Heard heard);

  Result<void> begin(transport::RunningCommands& processes) override;
  Result<void> send_contact(const std::string& line, transport::RunningCommands& processes) override;
  Time come_by() const override { return come_by_; }
  void watch(std::vector<pollfd>& polled) const override;
  void turn(const pollfd* polled, Time now) override;
  std::optional<transport::Disconnect> start_failure(const std::string& host) override;
  /// A command of one host's own may end without its agent: who starts tasks for it goes on.
  bool ended() const override;
  /// Nobody needs the files any more.
  void settled() override { files_.reset(); }
  void close() override;

 private:
  /// One that was started, for this host; for all of them when the name is empty.
  struct Started {
    std::string host;
    sys::Fd stream = {};  // what it writes, which is nobody's
    sys::Fd errors = {};
    bool said_why = false;
  };

  Result<void> start(const std::string& host, const std::string& command, const std::string& arguments,
                     transport::RunningCommands& processes);
  void read(Started& from);
  void read_answers();
  const Started* command_of(const std::string& host) const;

  const Request request_;
  const Heard heard_;
  const bool one_for_all_;
  std::optional<StartDirectory> files_;
  std::vector<Started> started_;
  std::optional<Answers> answers_;  // as the hosts' files were when they were last read
  Time next_read_;                  // of these files
  Time come_by_ = Time::max();
};

}  // namespace dlaunch::dialback
