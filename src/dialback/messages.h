// What a person is told while nodes and launcher look for each other.
#pragma once

#include <functional>
#include <string>

namespace dlaunch::dialback {

struct Messages {
  std::function<void(const std::string&)> info;  ///< with -v
  std::function<void(const std::string&)> note;
};

}  // namespace dlaunch::dialback
