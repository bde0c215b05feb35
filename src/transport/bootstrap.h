// How the agent gets to a host that has nothing but a shell. PURE. A script is sent first, on the stdin of a plain
// `sh`, so that no login shell parses it and no command line holds it. It execs the agent that an earlier job left in
// the user's cache if it is whole and nobody else could have written it; else it asks for the agent and keeps it.
//
//   launcher: the script                     host: …noise of rc files… "dlaunch:NONCE need x86_64"
//   launcher: the agent's bytes              host: "dlaunch:NONCE ready x86_64", then frames
//   or                                       host: "dlaunch:NONCE fail WHAT"
//
// Each side waits for the other, so a shell that reads ahead takes nothing that is meant for the agent.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace dlaunch::transport {

/// The most that rc files may print before the first mark.
inline constexpr size_t kMaxNoise = 4u << 20;
/// How much of it is kept, to be shown.
inline constexpr size_t kKeptNoise = 16u << 10;
/// The longest answer; the script's have a few paths.
inline constexpr size_t kMaxAnswer = 32u << 10;

struct AgentImage {
  std::string_view bytes;
  std::string hash;      ///< SHA-256 of the bytes, hexadecimal; names its directory in the cache
  std::string machine;   ///< as uname -m prints it
  std::string checksum;  ///< as cksum prints it for a file on its stdin
};

/// The agent that is inside this program.
AgentImage agent_image();

/// The host's limit for each 64 KiB of the agent, where it has GNU's timeout(1).
inline constexpr std::chrono::seconds kPieceLimit{30};

/// `nonce` has letters and digits that no noise contains. `agent_path`: an agent on the host; empty: the cache.
/// `dial_in`: the agent connects to its launcher by itself (agent/dial_in.h), and every answer begins with this name of
/// its host, as the script's shell expands it; empty: the link is the script's own stream.
std::string bootstrap_script(const AgentImage& image, const std::string& nonce, const std::string& agent_path,
                             std::chrono::seconds piece_limit = kPieceLimit, const std::string& dial_in = {});

class Bootstrap {
 public:
  enum class Next { wait, upload, frames, failed };

  Bootstrap(std::string nonce, std::string machine)
      : mark_("dlaunch:" + std::move(nonce) + ' '), machine_(std::move(machine)) {}

  /// Takes any bytes from the host: kKeptNoise and kMaxAnswer bound what is kept of them, and the cost does not depend
  /// on how they are cut. After `frames`, rest() is the beginning of the frames.
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
  bool in_answer_ = false;  // buffer_ begins after a mark
  size_t searched_ = 0;     // how much of the answer is known to have no newline
  std::string noise_;
  size_t noise_size_ = 0;
  bool asked_ = false;  // the host asked for the agent
  std::string why_;
};

}  // namespace dlaunch::transport
