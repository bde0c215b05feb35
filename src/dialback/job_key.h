// The secret shared by the nodes of one job: a process with the key belongs to the job. PURE.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::dialback {

/// 32 bytes, wiped by the destructor.
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

/// The minimum size of a key's text. An eavesdropper of a handshake can try keys offline, so the key must be random.
inline constexpr size_t kLeastKeyText = 16;
inline constexpr size_t kMostKeyText = 4096;

/// Derives the key from a text, without white space around the text. The Error never contains the text.
Result<Secret> job_key(std::string_view text);

}  // namespace dlaunch::dialback
