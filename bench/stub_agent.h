// An agent without processes: answers the bootstrap script and every frame like a real host. Its ranks seem to print a
// line and exit at once. Thousands of these hosts fit on one machine, to measure the cost of the launcher. PURE: the
// owner passes the time and the texts of uname.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/codec.h"

namespace dlaunch::bench {

class StubAgent {
 public:
  struct Facts {
    std::string host;
    std::string machine;
    std::uint32_t pid = 0;
    std::int64_t time_ns = 0;
  };

  explicit StubAgent(Facts facts) : facts_(std::move(facts)) {}

  /// Handles bytes from the launcher and appends the answer to `out`. Returns false after the last answer or an invalid
  /// input.
  bool feed(std::string_view bytes, std::string& out);

 private:
  bool take_script(std::string& out);
  bool answer(const wire::Message& message, std::string& out) const;
  void run_rank(const wire::Spawn& spawn, std::string& out) const;

  const Facts facts_;
  std::string script_;
  bool framed_ = false;
  wire::Decoder decoder_;
};

}  // namespace dlaunch::bench
