// Starts agents with one command of a resource manager. Its environment contains the bootstrap script. Its stdin
// receives the contact and, if a host lacks the agent, the agent's bytes and the contact again. Its stdout contains the
// answers of all hosts, and its stderr the reasons of the manager for ending the agents.
#pragma once

#include <string>
#include <vector>

#include "dialback/agent_starter.h"
#include "dialback/answers.h"
#include "sys/fd.h"

namespace dlaunch::dialback {

class StarterByStdin : public AgentStarter {
 public:
  StarterByStdin(Request request, OnErrors on_errors);

  Result<void> begin(transport::RunningCommands& processes) override;
  Result<void> send_contact(const std::string& line, transport::RunningCommands& processes) override;
  Time connect_by() const override { return connect_by_; }
  void watch(std::vector<pollfd>& polled) const override;
  void turn(const pollfd* polled, Time now) override;
  std::optional<transport::Disconnect> start_failure(const std::string& host) override;
  /// True if its stdout has ended.
  bool ended() const override { return !stream_; }
  void close() override;

 private:
  void send(std::string_view text);
  void write();
  void read(Time now);
  void read_errors();
  void send_agent(Time now);
  void check_answers(Time now);

  const Request request_;
  const OnErrors on_errors_;
  Answers answers_;
  sys::Fd stream_;
  sys::Fd errors_;
  std::string to_send_;
  Time began_;
  Time first_answer_ = Time::max();
  bool sent_agent_ = false;
  std::string contact_;
  Time connect_by_ = Time::max();
};

}  // namespace dlaunch::dialback
