// Limits of all messages between launcher and agent. PURE.
#pragma once

#include <cstdint>

namespace dlaunch::wire {

/// The version of the protocol: both sides must have the same. The agent travels with its launcher.
inline constexpr std::uint32_t kVersion = 10;

inline constexpr std::uint32_t kMaxFrame = 16u << 20;  ///< an environment of 2 MiB and argv fit with room to spare
inline constexpr std::uint32_t kMaxOutput =
    64u << 10;  ///< rank bytes in one frame; few, so that control messages do not wait long
/// The first grant for the output streams of a rank beyond those that Layout counts, or Layout's if that is less:
/// nobody knows how many such ranks will come.
inline constexpr std::uint32_t kLateCredit = 64u << 10;
inline constexpr std::uint32_t kStdinCredit = 256u << 10;  ///< first grant for each rank's stdin
inline constexpr std::uint32_t kStageCredit = 256u << 10;  ///< first grant for the files of --stage, for each host
inline constexpr std::uint32_t kNoDevice = ~0u;
inline constexpr std::uint32_t kMaxListItems = 1u << 20;  ///< more than execve takes: 6 MiB, nine bytes each at least

// The longest frame (type and fields) of a message that the agent may send: the receiver holds no more of it. A message
// without `kMost` is one of the launcher's, and may be kMaxFrame long.
inline constexpr std::uint32_t kMostNumbers = 256;          ///< of numbers alone
inline constexpr std::uint32_t kMostNames = 8u << 10;       ///< of a few names
inline constexpr std::uint32_t kMostText = 256u << 10;      ///< of a text for a person
inline constexpr std::uint32_t kMostErrorText = 64u << 10;  ///< of what a rank of PyTorch wrote about its failure
inline constexpr std::uint32_t kMostCpus = 8192;            ///< of one host: Linux supports no more
inline constexpr std::uint32_t kMostDevices = 1024;
inline constexpr std::uint32_t kMostShared = 8u << 20;  ///< bytes that the ranks of a host may put for others at a time

/// Who may send a message of a type: the agent sends types from 32 on, the launcher the others, and both send Ping,
/// Credit and PmixEvent.
enum class Sender : std::uint8_t { any, launcher, agent };
constexpr bool may_send(Sender sender, std::uint8_t type) {
  if (sender == Sender::any || type == 16 || type == 17 || type == 27) return true;
  return (type >= 32) == (sender == Sender::agent);
}

}  // namespace dlaunch::wire
