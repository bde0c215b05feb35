// What a PMIx client says first: how many bytes follow, and in them the name of its world. PURE.
#pragma once

#include <string_view>

namespace dlaunch::pmix {

inline constexpr size_t kMostGreeting = 16u << 10;  ///< bytes in which the name must stand

struct Greeting {
  enum class Is { unfinished, nonsense, whole };
  Is is = Is::unfinished;
  std::string_view world;  ///< with `whole`: a name that begins with the job's
};

/// `said`: all that the client has said. `job`: the job's name, with which those of its worlds begin.
Greeting read_greeting(std::string_view said, std::string_view job);

}  // namespace dlaunch::pmix
