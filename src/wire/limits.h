// What all messages between launcher and agent keep to. PURE.
#pragma once

#include <cstdint>

namespace dlaunch::wire {

/// Both sides must have been built with the same; the agent travels with its launcher.
inline constexpr std::uint32_t kVersion = 8;

inline constexpr std::uint32_t kMaxFrame = 16u << 20;  ///< an environment of 2 MiB and argv fit with room to spare
inline constexpr std::uint32_t kMaxOutput = 64u
                                            << 10;  ///< of rank bytes in one frame, so that control is not kept waiting
/// First grant for the output streams of a rank beyond those that Layout counts, if Layout's is not less: nobody knows
/// how many will come.
inline constexpr std::uint32_t kLateCredit = 64u << 10;
inline constexpr std::uint32_t kStdinCredit = 256u << 10;  ///< first grant for every rank's stdin
inline constexpr std::uint32_t kStageCredit = 256u << 10;  ///< first grant for the files of --stage, for every host
inline constexpr std::uint32_t kNoDevice = ~0u;
inline constexpr std::uint32_t kMaxListItems = 1u << 20;  ///< more than execve takes: 6 MiB, nine bytes each at least

// How large a frame of the agent's may be (type and fields): whoever it speaks to holds no more of it, whatever it
// says. A message without `kMost` is one that the launcher sends, and may fill a frame.
inline constexpr std::uint32_t kMostNumbers = 256;      ///< of numbers alone
inline constexpr std::uint32_t kMostNames = 8u << 10;   ///< of a few names
inline constexpr std::uint32_t kMostText = 256u << 10;  ///< of a text for a person
inline constexpr std::uint32_t kMostCpus = 8192;        ///< of one host: Linux knows no more
inline constexpr std::uint32_t kMostDevices = 1024;
inline constexpr std::uint32_t kMostShared = 8u << 20;  ///< bytes that the ranks of a host put for others at a time

/// Who may send a message of a type: those from 32 on are the agent's, the others the launcher's, but three that are
/// both's.
enum class Sender : std::uint8_t { any, launcher, agent };
constexpr bool may_send(Sender sender, std::uint8_t type) {
  if (sender == Sender::any || type == 16 || type == 17 || type == 27) return true;
  return (type >= 32) == (sender == Sender::agent);
}

}  // namespace dlaunch::wire
