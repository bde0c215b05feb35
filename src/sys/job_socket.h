// The unix socket through which `dlaunch stacks` contacts a running job. Its name is abstract: no file is left. Any
// user can take a name first, so both sides check the user of the peer process: the same user or root.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/fd.h"

namespace dlaunch::sys {

inline constexpr std::string_view kQuestion = "stacks\n";
inline constexpr std::string_view kWholeQuestion = "stacks whole\n";

/// Empty, with errno set, if the socket cannot be created, for example if the name is taken.
Fd listen_for_questions(const std::string& job_id);

struct AcceptedClient {
  Fd socket;       ///< non-blocking
  bool permitted;  ///< the same user or root
};
/// The next client; nullopt with errno set: no client waits (EAGAIN), or accept(2) failed.
std::optional<AcceptedClient> accept_caller(int listener);

struct AskableJob {
  unsigned uid;
  std::string job_id;
};
/// The jobs of this user (for root: of all users) on this machine, in this network namespace.
std::vector<AskableJob> askable_jobs();
/// A blocking connection; empty, with errno set, if no permitted process listens. ETIMEDOUT: the launcher accepted no
/// client for `patience`, for example because it is stopped.
Fd connect_to(const AskableJob& job, std::chrono::milliseconds patience);

}  // namespace dlaunch::sys
