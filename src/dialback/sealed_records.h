// Records sealed by secretstream of libsodium, which detects changed, missing, repeated, reordered and truncated data.
// A direction starts with secretstream's header. A record consists of its length (u32, little-endian, authenticated
// with the data) and its sealed bytes. PURE except for the random header.
#pragma once

#include <sodium/crypto_secretstream_xchacha20poly1305.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dialback/job_key.h"

namespace dlaunch::dialback {

/// Maximum bytes in a record.
inline constexpr size_t kMostRecord = 64u << 10;

struct SealedRecord {
  /// The first byte of the sealed data.
  enum class Kind : std::uint8_t {
    statement = 1,  ///< node: its statement (statement.h); its first record
    welcome = 2,    ///< launcher: the node is admitted (Welcome in statement.h)
    refusal = 3,    ///< launcher: why the node is refused; the last record
    data = 4,       ///< bytes of the agent's link, both ways
    alive = 5,      ///< empty; the heartbeat of a connection without other records
    /// End of the data; from a node with the remaining processes and the reason (DataEnd in statement.h)
    data_end = 6,
    outcome = 7,  ///< launcher: the job's exit code in digits; the last record
  };
  Kind kind = Kind::alive;
  std::string payload;
};

class Sealer {
 public:
  explicit Sealer(const Secret& key);
  ~Sealer();
  Sealer(Sealer&&) = default;
  Sealer& operator=(Sealer&&) = default;

  /// Appends the record, with the header before the first record. `last`: no record may follow.
  void seal(SealedRecord::Kind kind, std::string_view payload, std::string& out, bool last = false);

 private:
  std::string header_;
  crypto_secretstream_xchacha20poly1305_state state_;
};

class Opener {
 public:
  explicit Opener(const Secret& key) : key_(key) {}
  ~Opener();
  Opener(Opener&&) = default;
  Opener& operator=(Opener&&) = default;

  void feed(std::string_view bytes) { buffer_ += bytes; }
  /// The next complete record; nullopt: more bytes are needed. Do not call after an Error.
  Result<std::optional<SealedRecord>> next();
  /// True after the last record.
  bool ended() const { return ended_; }
  size_t held() const { return buffer_.size() - start_; }

 private:
  std::string_view rest() const { return std::string_view(buffer_).substr(start_); }
  void take(size_t size);
  bool begin();

  Secret key_;
  std::string buffer_;
  size_t start_ = 0;
  bool begun_ = false;
  bool ended_ = false;
  crypto_secretstream_xchacha20poly1305_state state_{};
};

}  // namespace dlaunch::dialback
