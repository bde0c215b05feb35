// An agent that starts nothing: it answers the bootstrap script and every frame as a host would on which each rank says
// a line and ends at once. So thousands of hosts fit on one machine and the launcher's own cost can be measured.
// PURE but for the clock and uname's words, which its owner gives.
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

  /// What came from the launcher; the answer is appended to `out`. False once all is said, or after nonsense.
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
