// The unix socket by which a running job is asked what it does: its name is abstract, so no file is left. Whoever made
// a name first has it, so both sides look whose process is at the other end: the same user's, or root's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sys/fd.h"

namespace dlaunch::sys {

inline constexpr std::string_view kQuestion = "stacks\n";
inline constexpr std::string_view kWholeQuestion = "stacks whole\n";

/// Empty, with errno set, where it cannot be made, as when the name is taken.
Fd listen_for_questions(const std::string& job_id);
/// The next caller, non-blocking; empty: there is none that may ask.
Fd accept_question(int listener);

struct AskableJob {
  unsigned uid;
  std::string job_id;
};
/// The jobs of this user (of all users as root) on this machine, in this network namespace.
std::vector<AskableJob> askable_jobs();
/// A blocking connection; empty, with errno set, where nobody answers who may.
Fd connect_to(const AskableJob& job);

}  // namespace dlaunch::sys
