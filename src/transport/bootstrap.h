// Starts the agent on a host that has only a shell. PURE. The launcher first sends a script to the stdin of a plain
// `sh`: no login shell parses the script, and no command line contains it. The script runs the agent from the user's
// cache if the file is complete and no other user could have written the file. Otherwise the script requests the agent
// and stores the file.
//
//   launcher: the script                     host: …noise of rc files… "dlaunch:NONCE need x86_64"
//   launcher: the agent for x86_64           host: "dlaunch:NONCE ready x86_64", then frames
//   or                                       host: "dlaunch:NONCE fail WHAT"
//
// Each side waits for the other, so a shell that reads ahead cannot take bytes meant for the agent.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::transport {

/// Maximum bytes that rc files may print before the first mark.
inline constexpr size_t kMaxNoise = 4u << 20;
/// Bytes of this output kept for messages.
inline constexpr size_t kKeptNoise = 16u << 10;
/// Maximum bytes of an answer; answers of the script contain a few paths.
inline constexpr size_t kMaxAnswer = 32u << 10;

struct AgentImage {
  std::string_view bytes;
  std::string hash;      ///< SHA-256 of the bytes, hexadecimal; the name of the cache directory
  std::string machine;   ///< output of uname -m
  std::string checksum;  ///< output of cksum for a file on its stdin
};

/// The agents inside this program, one for each machine type. The first agent is for this machine.
const std::vector<AgentImage>& agent_images();
inline const AgentImage& agent_image() { return agent_images().front(); }
std::vector<std::string> agent_machines();
/// The bytes of all agents, for hosts that receive the same bytes: each host skips the other agents.
std::string all_agents();

/// The time limit on the host for each 64 KiB of the agent, if GNU timeout(1) is installed.
inline constexpr std::chrono::seconds kPieceLimit{30};

/// `nonce`: letters and digits, not part of any other output. `agent_path`: an agent on the host; empty: the cache.
/// `dial_in`: not empty if the agent connects to the launcher (agent/dial_in.h); each answer then starts with this host
/// name, expanded by the script's shell, and the host receives all agents. Empty: the link uses the script's own
/// stream, and the host receives the agent for machine().
std::string bootstrap_script(const std::vector<AgentImage>& images, const std::string& nonce,
                             const std::string& agent_path, std::chrono::seconds piece_limit = kPieceLimit,
                             const std::string& dial_in = {});

class Bootstrap {
 public:
  enum class Next { wait, upload, frames, failed };

  /// `machines`: the types that an agent exists for.
  Bootstrap(std::string nonce, std::vector<std::string> machines)
      : mark_("dlaunch:" + std::move(nonce) + ' '), machines_(std::move(machines)) {}

  /// Accepts any bytes from the host. Memory is bounded by kKeptNoise and kMaxAnswer; the cost does not depend on the
  /// chunk sizes. After `frames`, rest() returns the start of the frames.
  Next feed(std::string_view bytes);

  const std::string& machine() const { return machine_; }  ///< after `upload`: the host's machine type
  const std::string& rest() const { return buffer_; }
  const std::string& why() const { return why_; }      ///< after `failed`
  const std::string& noise() const { return noise_; }  ///< the output before the marks

 private:
  /// Returns false if the mark has not arrived.
  bool skip_to_mark();
  void drop_noise(size_t size);
  Next take_answer(std::string_view line);
  Next fail(std::string why);

  const std::string mark_;
  const std::vector<std::string> machines_;
  std::string machine_;
  std::string buffer_;
  bool in_answer_ = false;  // buffer_ starts after a mark
  size_t searched_ = 0;     // bytes of the answer without a newline
  std::string noise_;
  size_t noise_size_ = 0;
  bool requested_ = false;  // the host requested the agent
  std::string why_;
};

}  // namespace dlaunch::transport
