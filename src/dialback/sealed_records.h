// Records sealed by libsodium's secretstream: what is changed, left out, repeated, put in another order or cut off is
// noticed. A direction begins with secretstream's header; a record is its length (u32, little-endian, authenticated
// with it) and its sealed bytes. PURE but for the random header.
#pragma once

#include <sodium/crypto_secretstream_xchacha20poly1305.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dialback/job_key.h"

namespace dlaunch::dialback {

/// The most bytes in one record.
inline constexpr size_t kMostRecord = 64u << 10;

struct SealedRecord {
  /// The first byte of what is sealed.
  enum class Kind : std::uint8_t {
    statement = 1,  ///< node: what it was started for (statement.h); its first record
    welcome = 2,    ///< launcher: it is one of the job's nodes; the job's id
    refusal = 3,    ///< launcher: why it is none; the last record
    data = 4,       ///< the bytes of the agent's link, both ways
    alive = 5,      ///< nothing, every few seconds
    data_end = 6,   ///< no data follow; of a node with what is left there and why (DataEnd in statement.h)
    outcome = 7,    ///< launcher: the exit code of the job in digits; the last record
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

  /// Appends the record, after the header when it is the first. `last`: nothing may follow it.
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
  /// The next whole record; nullopt when more bytes are needed. It must not be used after an Error.
  Result<std::optional<SealedRecord>> next();
  /// The last record has come.
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
