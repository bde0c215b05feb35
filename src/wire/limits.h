// Limits of all messages between launcher and agent. PURE.
#pragma once

#include <cstdint>

namespace dlaunch::wire {

/// The version of the protocol. Both sides must have the same version. The agent travels with its launcher.
inline constexpr std::uint32_t kVersion = 15;

inline constexpr std::uint32_t kMaxFrame = 16u << 20;  ///< an environment of 2 MiB and argv fit
inline constexpr std::uint32_t kMaxOutput =
    /// limit of rank bytes in one frame; low, so that control messages do not wait long. The first grant for the output
    /// streams of each rank that Layout does not count, or Layout's grant if lower: the number of such ranks is
    /// unknown.
    64u << 10;
inline constexpr std::uint32_t kLateCredit = 64u << 10;
inline constexpr std::uint32_t kStdinCredit = 256u << 10;  ///< first grant for the stdin of each rank
inline constexpr std::uint32_t kStageCredit = 256u << 10;  ///< first grant for the files of --stage, per host
inline constexpr std::uint32_t kNoDevice = ~0u;
/// above the limit of execve: 6 MiB, at least nine bytes each
inline constexpr std::uint32_t kMaxListItems = 1u << 20;

// The longest frame (type and fields) of a message from an agent. The receiver never keeps more bytes. A message
// without `kMost` comes from the launcher, and its limit is kMaxFrame.
inline constexpr std::uint32_t kMostNumbers = 256;          ///< numbers only
inline constexpr std::uint32_t kMostNames = 8u << 10;       ///< a few names
inline constexpr std::uint32_t kMostText = 256u << 10;      ///< a text for a user
inline constexpr std::uint32_t kMostErrorText = 64u << 10;  ///< the error report of a PyTorch rank
inline constexpr std::uint32_t kMostCpus = 8192;            ///< CPUs of one host: the limit of Linux
inline constexpr std::uint32_t kMostDevices = 1024;
/// limit of bytes that the ranks of a host put for others at a time
inline constexpr std::uint32_t kMostShared = 8u << 20;

/// The sender of a message type: the agent sends types from 32 on, the launcher the others; both send Ping, Credit and
/// PmixEvent.
enum class Sender : std::uint8_t { any, launcher, agent };
constexpr bool may_send(Sender sender, std::uint8_t type) {
  if (sender == Sender::any || type == 16 || type == 17 || type == 27) return true;
  return (type >= 32) == (sender == Sender::agent);
}

}  // namespace dlaunch::wire
