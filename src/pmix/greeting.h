// What a PMIx client sends first: the number of bytes that follow and, in these, the name of its world. PURE.
#pragma once

#include <string_view>

namespace dlaunch::pmix {

inline constexpr size_t kMostGreeting = 16u << 10;  ///< bytes within which the name must be

struct Greeting {
  enum class Is { unfinished, nonsense, whole };
  Is is = Is::unfinished;
  std::string_view world;  ///< with `whole`: a name that begins with the job's
};

/// `said` is all that the client has sent, `job` the job's name, with which its worlds' names begin.
Greeting read_greeting(std::string_view said, std::string_view job);

}  // namespace dlaunch::pmix
