// What the bootstrap's scripts of several hosts answer on one stream, each line with its host's name (bootstrap.h).
// PURE.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "transport/bootstrap.h"

namespace dlaunch::dialback {

class Answers {
 public:
  enum class State { silent, asks, ready, failed };  ///< asks: for the agent's bytes

  Answers(const std::string& nonce, const std::string& machine, const std::vector<std::string>& names);

  /// Takes any bytes; a line that is no answer of one of these hosts, or longer than kMaxAnswer, is skipped. The result
  /// does not depend on how the bytes are cut.
  void feed(std::string_view bytes);

  bool any(State state) const;
  const std::string& why(const std::string& name) const { return hosts_.at(name).why; }  ///< after failed
  State state(const std::string& name) const { return hosts_.at(name).state; }
  bool ran(const std::string& name) const { return hosts_.at(name).ran; }  ///< it was ready once

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
  bool in_long_line_ = false;  // the beginning of the line was dropped
  std::map<std::string, Answering, std::less<>> hosts_;
};

}  // namespace dlaunch::dialback
