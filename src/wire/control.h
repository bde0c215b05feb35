// Messages that open and close an agent, its heartbeat, and questions about its host before there is a plan. PURE.
// docs/wire.md has each message byte by byte; wire/message.h says how one is added.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/limits.h"

namespace dlaunch::wire {

// ---- launcher to agent ----

/// The first frame. The agent answers Hello.
struct Setup {
  static constexpr std::uint8_t kType = 1;
  std::uint32_t version = kVersion;
  std::string job_id;
  std::uint32_t heartbeat_ms = 0;  ///< a Ping comes at least this often; three missed ones end the job here
  std::uint32_t grace_ms = 0;      ///< between TERM and KILL when the link is lost
  bool hand_over = false;          ///< the link is a unix socket: pass the read ends of output pipes with Started
  void fields(auto& a) { a(version, job_id, heartbeat_ms, grace_ms, hand_over); }
  bool operator==(const Setup&) const = default;
};

/// The launcher stops (Ctrl-Z) and falls silent. Until its next frame the silence does not mean that it is dead.
struct Pause {
  static constexpr std::uint8_t kType = 7;
  void fields(auto&) {}
  bool operator==(const Pause&) const = default;
};

/// No more ranks will come in this round: end what the job left, and confirm with Clean.
struct Finish {
  static constexpr std::uint8_t kType = 8;
  bool stay = false;  ///< another round may follow: everything is as after Hello then
  void fields(auto& a) { a(stay); }
  bool operator==(const Finish&) const = default;
};

/// For an agent without ranks, right after Setup: another agent of this job was lost on this host. End what its ranks
/// left, found by the job's id, and confirm with Clean.
struct Sweep {
  static constexpr std::uint8_t kType = 28;
  void fields(auto&) {}
  bool operator==(const Sweep&) const = default;
};

/// Look at the host. The agent answers HostInfo; where there are names, only once they are resolved.
struct QueryHost {
  static constexpr std::uint8_t kType = 10;
  std::string path;                    ///< PATH of the ranks, in which programs are looked up
  std::vector<std::string> wdirs;      ///< directories that should be there
  std::vector<std::string> programs;   ///< each is looked for from the wdir at its index; empty: none is
  std::vector<std::string> names;      ///< to be resolved
  bool cores = false;                  ///< count cores as CPUs
  bool no_devices = false;             ///< do not look for devices
  std::vector<std::string> scripts;    ///< to be read from the wdir at its index; empty: none is
  std::vector<std::uint32_t> in_path;  ///< 1: a script without a slash may also be in `path`
  void fields(auto& a) { a(path, wdirs, programs, names, cores, no_devices, scripts, in_path); }
  bool operator==(const QueryHost&) const = default;
};

/// Run short programs on the host, side by side. The agent answers CommandResults.
struct RunCommands {
  static constexpr std::uint8_t kType = 12;
  std::string path;                   ///< PATH in which they are looked up
  std::uint32_t patience_ms = 0;      ///< limit for all of them together
  std::vector<std::string> commands;  ///< the words of each, separated by newlines
  void fields(auto& a) { a(path, patience_ms, commands); }
  bool operator==(const RunCommands&) const = default;
};

// ---- both ways ----

struct Ping {
  static constexpr std::uint8_t kType = 16;
  static constexpr std::uint32_t kMost = kMostNumbers;
  void fields(auto&) {}
  bool operator==(const Ping&) const = default;
};

// ---- agent to launcher ----

struct Hello {
  static constexpr std::uint8_t kType = 32;
  static constexpr std::uint32_t kMost = kMostNames;
  std::uint32_t version = kVersion;
  std::string host;     ///< uname's nodename
  std::string machine;  ///< uname's machine
  std::uint32_t pid = 0;
  std::int64_t time_ns = 0;  ///< CLOCK_REALTIME
  std::string identity;      ///< equal for two names of one host, different for two hosts
  void fields(auto& a) { a(version, host, machine, pid, time_ns, identity); }
  bool operator==(const Hello&) const = default;
};

/// A text that a person reads with -v, or an agent's last one before it gives up.
struct Log {
  static constexpr std::uint8_t kType = 38;
  static constexpr std::uint32_t kMost = kMostText;
  static constexpr std::uint8_t kDetail = 0;
  static constexpr std::uint8_t kInformation = 1;
  static constexpr std::uint8_t kWarning = 2;  ///< shown without -v, too
  static constexpr std::uint8_t kError = 3;
  std::uint8_t level = kDetail;
  std::string text;
  void fields(auto& a) { a(level, text); }
  bool operator==(const Log&) const = default;
};

/// Somebody other than the launcher told the agent to end, or by USR1 or USR2 that it will: a resource manager, a
/// container's or the host's own end, a person. Each signal within a second of the same one counts as that one. The
/// launcher answers at once, by Ping or any other message, and decides. Without an answer it is lost.
struct TerminationNotice {
  static constexpr std::uint8_t kType = 56;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t signal = 0;
  std::int64_t time_ns = 0;  ///< CLOCK_REALTIME when it came
  void fields(auto& a) { a(signal, time_ns); }
  bool operator==(const TerminationNotice&) const = default;
};

/// The last frame: what of the job is left on the host; all is gone when `left` is empty.
struct Clean {
  static constexpr std::uint8_t kType = 39;
  static constexpr std::uint32_t kMost = kMostText;
  std::vector<std::string> left;  ///< "pid 123 (python3), unkillable", …
  void fields(auto& a) { a(left); }
  bool operator==(const Clean&) const = default;
};

/// The answer to QueryHost; its lists match QueryHost's by index.
struct HostInfo {
  static constexpr std::uint8_t kType = 40;
  static constexpr std::uint32_t kMost = 4u << 20;
  std::int64_t time_ns = 0;  ///< CLOCK_REALTIME when the look began
  std::string version;       ///< the agent's own
  std::uint32_t cpus = 0;    ///< those of the affinity mask, at most what a cgroup's quota allows
  std::string cpus_from;     ///< "affinity mask", "cgroup cpu.max", …
  std::uint8_t device_kind = 0;
  std::vector<std::uint32_t> devices;
  std::string devices_from;
  std::int64_t shm_free = -1;                ///< bytes in /dev/shm; -1: there is none
  std::int64_t open_files = -1;              ///< the limit that ranks get; -1: none
  std::vector<std::uint32_t> wdir_errors;    ///< errno of entering each; 0: it is there
  std::vector<std::string> programs;         ///< path of each; empty: see `missing`
  std::vector<std::string> missing;          ///< "cannot find train in PATH: No such file or directory"; empty: found
  std::vector<std::string> addresses;        ///< of each name, separated by blanks; empty: it does not resolve
  std::string unresolved;                    ///< why some names could not be looked up; empty: all were
  std::vector<std::string> interfaces;       ///< its own addresses, not loopback: "eth0 10.0.0.1"
  std::vector<std::string> scripts;          ///< path of each; empty: it cannot be read
  std::vector<std::uint32_t> script_errors;  ///< errno of reading each; 0: it is there
  void fields(auto& a) {
    a(time_ns, version, cpus, cpus_from, device_kind, devices, devices_from, shm_free, open_files, wdir_errors,
      programs, missing, addresses, unresolved, interfaces, scripts, script_errors);
  }
  bool operator==(const HostInfo&) const = default;
};

/// The answer to RunCommands; its lists match the commands by index.
struct CommandResults {
  static constexpr std::uint8_t kType = 41;
  static constexpr std::uint32_t kMost = 4u << 20;
  std::vector<std::string> printed;  ///< on stdout and stderr
  std::vector<std::uint32_t> codes;  ///< exit codes as a shell gives them; 127: no such program; 124: it took too long
  void fields(auto& a) { a(printed, codes); }
  bool operator==(const CommandResults&) const = default;
};

}  // namespace dlaunch::wire
