// Parses the answers of bootstrap scripts of several hosts on one stream; each line contains the host's name
// (bootstrap.h). PURE.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "transport/bootstrap.h"

namespace dlaunch::dialback {

class Answers {
 public:
  enum class State { silent, asks, ready, failed };  ///< asks: requests the bytes of the agent

  Answers(const std::string& nonce, const std::vector<std::string>& machines, const std::vector<std::string>& names);

  /// Accepts any bytes. Skips lines longer than kMaxAnswer and lines that are not answers of these hosts. The result
  /// does not depend on the chunk sizes.
  void feed(std::string_view bytes);

  bool any(State state) const;
  const std::string& why(const std::string& name) const { return hosts_.at(name).why; }  ///< after failed
  State state(const std::string& name) const { return hosts_.at(name).state; }
  bool ran(const std::string& name) const { return hosts_.at(name).ran; }  ///< true if the host was ever ready

 private:
  struct Answering {
    transport::Bootstrap bootstrap;
    State state = State::silent;
    bool ran = false;
    std::string why = {};
  };

  void take_line(std::string_view line);

  const std::string mark_;
  std::string buffer_;
  bool in_long_line_ = false;  // the start of the line was dropped
  std::map<std::string, Answering, std::less<>> hosts_;
};

}  // namespace dlaunch::dialback
