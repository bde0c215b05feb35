// Messages for the user while nodes and launcher connect.
#pragma once

#include <functional>
#include <string>

namespace dlaunch::dialback {

struct Messages {
  std::function<void(const std::string&)> info;  ///< printed with -v
  std::function<void(const std::string&)> note;
};

}  // namespace dlaunch::dialback
