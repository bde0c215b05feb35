// Shows a job's progress as the status line on the terminal. Each command with a HostSession has its own; the streams
// must outlive this object.
#pragma once

#include "dlaunch/listener.h"
#include "dlaunch/plan.h"
#include "report/status_line.h"

namespace dlaunch::app {

class ConsoleListener final : public Listener {
 public:
  explicit ConsoleListener(output::StandardStreams& streams, const report::StatusSettings& settings = {})
      : status_(streams, settings) {}

  /// From now on the line is about this plan's job, and shows the plan's remarks.
  void of_plan(const plan::Plan& plan);
  void progress(const job::Progress& progress) override;

 private:
  report::StatusLine status_;
  std::string remark_;
  int hosts_ = 0;
};

}  // namespace dlaunch::app
