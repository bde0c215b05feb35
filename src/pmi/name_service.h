// The names that ranks of a job publish for each other (MPI_Publish_name). PURE. Owned by the launcher.
#pragma once

#include <map>
#include <string>

#include "pmi/actions.h"

namespace dlaunch::pmi {

class NameService {
 public:
  static constexpr size_t kMost = 10000;           ///< limit of names at a time
  static constexpr size_t kMostBytes = 16u << 20;  ///< limit for all names and ports together

  struct Answer {
    bool ok = false;
    std::string port;  ///< set by a successful lookup
  };
  Answer ask(NameOp op, const std::string& service, const std::string& port);

 private:
  bool publish(const std::string& service, const std::string& port);

  std::map<std::string, std::string> ports_;
  size_t bytes_ = 0;
};

}  // namespace dlaunch::pmi
