// The secret shared by the nodes of one job: a process with the key belongs to the job. PURE.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/ip_address.h"
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

// The launcher's address and key for agents that connect to it: a line in the agents' stdin, after a unique mark. The
// line contains the key, so the key is not in an argv, an environment or a file readable by other users. PURE.

inline constexpr size_t kMostContact = 256;  ///< bytes after the mark

/// The start of the report of an agent that could not connect to the launcher.
inline constexpr std::string_view kCannotConnect = "cannot connect to ";

struct LauncherContact {
  Endpoint at;      ///< numeric
  std::string key;  ///< the text of the key
};

/// Returns a line with a newline on both sides; a shell reads the line as a comment.
std::string contact_line(const LauncherContact& contact, std::string_view nonce);

/// Finds the contact in a stream, whatever precedes it. Uses only a few bytes of memory.
class ContactReader {
 public:
  explicit ContactReader(std::string_view nonce);

  /// The contact, once completely received.
  std::optional<LauncherContact> feed(std::string_view bytes);
  /// True if the line after the mark is invalid.
  bool broken() const { return broken_; }

 private:
  const std::string mark_;
  std::string buffer_;
  bool broken_ = false;
};

}  // namespace dlaunch::dialback
