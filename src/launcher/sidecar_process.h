// The state of the plan's sidecar process, if any. Its rank number is the number after the last rank. Owned by the
// Launcher; the plan must outlive this object.
#pragma once

#include <string>

#include "dlaunch/exit_status.h"
#include "dlaunch/plan.h"
#include "job/job.h"

namespace dlaunch::launcher {

class SidecarProcess {
 public:
  explicit SidecarProcess(const plan::Plan& plan) : plan_(plan), number_(static_cast<int>(plan.ranks.size())) {}

  bool is(int rank) const { return plan_.sidecar && rank == number_; }
  bool is_on(int host) const { return plan_.sidecar && plan_.sidecar->host == host; }
  int number() const { return number_; }
  int host() const { return plan_.sidecar->host; }

  /// Returns a text for the log.
  std::string started(std::uint32_t pid) {
    pid_ = pid;
    return "the " + plan_.sidecar->name + " started, pid " + std::to_string(pid);
  }
  /// Returns the event for Job.
  job::SidecarEnded ended(const ExitStatus& status) {
    over_ = true;
    const std::string& host = plan_.host(plan_.sidecar->host).host.name;
    std::string text = "the " + plan_.sidecar->name + " (host " + host;
    if (pid_ != 0) text += ", pid " + std::to_string(pid_);
    return {status, text + ") " + status.describe()};
  }
  void lost() { over_ = true; }
  void drained() { drained_ = true; }
  /// Whether the process has ended and its output is complete.
  bool gone() const { return over_ && drained_; }

 private:
  const plan::Plan& plan_;
  const int number_;
  std::uint32_t pid_ = 0;
  bool over_ = false;
  bool drained_ = false;
};

}  // namespace dlaunch::launcher
