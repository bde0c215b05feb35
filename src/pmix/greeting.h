// The first bytes of a PMIx client: the number of following bytes, which contain the name of its world. PURE.
#pragma once

#include <string_view>

namespace dlaunch::pmix {

inline constexpr size_t kMostGreeting = 16u << 10;  ///< limit of bytes before the end of the name

struct Greeting {
  enum class Is { unfinished, nonsense, whole };
  Is is = Is::unfinished;
  std::string_view world;  ///< with `whole`: a name that starts with that of the job
};

/// `said` has all bytes of the client; `job` is the name of the job, with which the names of its worlds start.
Greeting read_greeting(std::string_view said, std::string_view job);

}  // namespace dlaunch::pmix
