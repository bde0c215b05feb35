// The meaning of a line that a manager's command prints on stderr. The row of the manager decides; the reader of the
// line keeps the meaning and the time of reading. Pure.
#pragma once

#include <string_view>

namespace dlaunch::place {

enum class LineMeaning {
  unknown,
  noise,        ///< never the reason of a failure
  cancelled,    ///< the manager ends all processes of the step, because somebody asked for it
  time_limit,   ///< the manager ends all processes of the step at the time limit
  node_failed,  ///< the manager ends all processes of the step after the failure of a node
  job_ended,    ///< the manager has ended all processes of the job
  refused,      ///< no process was started on the node that the line names; the manager ends the step on other nodes
};

/// The meaning for the manager that prints such lines.
LineMeaning meaning_of(std::string_view line);

/// Whether the manager ends all processes of the step.
bool ends_step(LineMeaning meaning);
/// Whether no process of the job is left on the host afterwards.
bool leaves_nothing(LineMeaning meaning);
/// Whether the end is an order of a person or of a limit, and no failure.
bool is_order(LineMeaning meaning);

/// The hint for this line; empty if unknown.
std::string_view hint_about(std::string_view line);

}  // namespace dlaunch::place
