// The secret that the nodes of one job share: whoever has it belongs to the job. PURE.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::dialback {

/// 32 bytes that are wiped when they go.
class Secret {
 public:
  static constexpr size_t kSize = 32;
  Secret() = default;
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();

  unsigned char* data() { return bytes_.data(); }
  const unsigned char* data() const { return bytes_.data(); }

 private:
  std::array<unsigned char, kSize> bytes_{};
};

/// The fewest bytes of a key's text. Who listens in on a handshake may try keys at leisure, so it must be a random one.
inline constexpr size_t kLeastKeyText = 16;
inline constexpr size_t kMostKeyText = 4096;

/// The key that a text stands for, white space around it aside. An Error never holds the text.
Result<Secret> job_key(std::string_view text);

}  // namespace dlaunch::dialback
