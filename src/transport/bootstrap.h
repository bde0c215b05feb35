// How the agent gets to a host that has nothing but a shell: a script goes in first, on the stdin of a plain `sh`, so
// that no login shell has to parse it and nothing stands on a command line. It execs the agent that an earlier job left
// in the user's cache, if nobody else could have written it and it is whole, or asks for it and keeps it. PURE.
//
//   launcher: the script                     host: …noise of rc files… "dlaunch:NONCE need x86_64"
//   launcher: the agent's bytes              host: "dlaunch:NONCE ready x86_64", then frames
//   or                                       host: "dlaunch:NONCE fail WHAT"
//
// Each side waits for the other, so a shell that reads ahead takes nothing that is not its own.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace dlaunch::transport {

/// What rc files may print before the first mark; more is no rc file.
inline constexpr size_t kMaxNoise = 4u << 20;
/// What is kept of it, to be shown.
inline constexpr size_t kKeptNoise = 16u << 10;
/// An answer's length; the script's have a few paths.
inline constexpr size_t kMaxAnswer = 32u << 10;

struct AgentImage {
  std::string_view bytes;
  std::string hash;      ///< SHA-256 of the bytes, hexadecimal: the name of its directory in the cache
  std::string machine;   ///< as uname -m says
  std::string checksum;  ///< as cksum says of a file on its stdin
};

/// The image in this launcher.
AgentImage agent_image();

/// How long the host waits for each 64 KiB of the agent, where it has GNU's timeout(1).
inline constexpr std::chrono::seconds kPieceLimit{30};

/// `nonce`: letters and digits that no noise holds. `agent_path`: an agent installed on the host; empty: the cache.
std::string bootstrap_script(const AgentImage& image, const std::string& nonce, const std::string& agent_path,
                             std::chrono::seconds piece_limit = kPieceLimit);

class Bootstrap {
 public:
  enum class Next { wait, upload, frames, failed };

  Bootstrap(std::string nonce, std::string machine)
      : mark_("dlaunch:" + std::move(nonce) + ' '), machine_(std::move(machine)) {}

  /// What came from the host, which may be anything: kKeptNoise and kMaxAnswer bound what is held of it, and its cost
  /// is the same however it is cut. After `frames`, rest() is the beginning of the frames.
  Next feed(std::string_view bytes);

  const std::string& rest() const { return buffer_; }
  const std::string& why() const { return why_; }      ///< after failed
  const std::string& noise() const { return noise_; }  ///< what came before marks

 private:
  /// False when there is no mark yet.
  bool skip_to_mark();
  void drop_noise(size_t size);
  Next take_answer(std::string_view line);
  Next fail(std::string why);

  const std::string mark_;
  const std::string machine_;
  std::string buffer_;
  bool in_answer_ = false;  // buffer_ begins behind a mark
  size_t searched_ = 0;     // so much of the answer has no newline
  std::string noise_;
  size_t noise_size_ = 0;
  bool asked_ = false;  // for the agent
  std::string why_;
};

}  // namespace dlaunch::transport
