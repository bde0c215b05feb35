// What -v and -vv tell on stderr about what dlaunch does. `run` owns it and lends it to the rooms that POSIX touches;
// the pure rooms never see it. Without -v it costs a comparison: no logger exists. Never give it a variable's value.
// The streams must outlive it.
#pragma once

#include <memory>
#include <string_view>

#include "output/standard_streams.h"

namespace dlaunch::report {

class Diagnostics {
 public:
  enum class Level { info = 1, detail = 2 };  ///< -v, -vv

  Diagnostics(output::StandardStreams& streams, int verbosity);
  ~Diagnostics();
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

  /// Ask before building a text that costs something.
  bool on(Level level) const { return verbosity_ >= static_cast<int>(level); }

  /// "dlaunch: text", with -vv "dlaunch: 12:34:56.789 text"; as message() has it (base/printable.h).
  void info(std::string_view text) { say(Level::info, text); }
  void detail(std::string_view text) { say(Level::detail, text); }

 private:
  class Logger;
  void say(Level level, std::string_view text);

  int verbosity_;
  std::unique_ptr<Logger> logger_;  // none without -v
};

}  // namespace dlaunch::report
