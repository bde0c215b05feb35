// Messages that open and close an agent, heartbeats, queries of a host before the plan, and directories and files for
// the ranks of a host. PURE. docs/wire.md has the bytes of each message; wire/message.h describes how to add a message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/limits.h"

namespace dlaunch::wire {

// ---- launcher to agent ----

/// The first frame. The agent answers with Hello.
struct Setup {
  static constexpr std::uint8_t kType = 1;
  std::uint32_t version = kVersion;
  std::string job_id;
  std::uint32_t heartbeat_ms = 0;    ///< the interval of Ping
  std::uint32_t grace_ms = 0;        ///< time between TERM and KILL after the loss of the link
  bool hand_over = false;            ///< the link is a unix socket: pass the read ends of output pipes with Started
  std::uint32_t pause_limit_ms = 0;  ///< length of the agent's lease (link/heartbeat.h); at least four heartbeats
  void fields(auto& a) { a(version, job_id, heartbeat_ms, grace_ms, hand_over, pause_limit_ms); }
  bool operator==(const Setup&) const = default;
};

/// The launcher is stopped (Ctrl-Z) and becomes silent. From the receipt of Pause until the next frame of the launcher,
/// the agent waits for at least Setup's pause_limit_ms.
struct Pause {
  static constexpr std::uint8_t kType = 7;
  void fields(auto&) {}
  bool operator==(const Pause&) const = default;
};

/// No more ranks follow in this round: end the leftovers of the job, and confirm with Clean.
struct Finish {
  static constexpr std::uint8_t kType = 8;
  bool stay = false;  ///< another round may follow: the agent returns to its state after Hello
  void fields(auto& a) { a(stay); }
  bool operator==(const Finish&) const = default;
};

/// For an agent without ranks, right after Setup: another agent of this job was lost on this host. End the leftovers of
/// its ranks, found by the job's id, and confirm with Clean.
struct Sweep {
  static constexpr std::uint8_t kType = 28;
  void fields(auto&) {}
  bool operator==(const Sweep&) const = default;
};

/// Read the clock of the host. The agent answers with ClockReading at once.
struct ReadClock {
  static constexpr std::uint8_t kType = 30;
  void fields(auto&) {}
  bool operator==(const ReadClock&) const = default;
};

/// Query the host. The agent answers with HostInfo, after the lookup of names, if any.
struct QueryHost {
  static constexpr std::uint8_t kType = 10;
  std::string path;                    ///< PATH of the ranks, for the lookup of programs
  std::vector<std::string> wdirs;      ///< required directories
  std::vector<std::string> programs;   ///< each program is searched from the wdir at its index; empty: no program
  std::vector<std::string> names;      ///< names to look up
  bool cores = false;                  ///< count cores as CPUs
  bool no_devices = false;             ///< do not search for devices
  std::vector<std::string> scripts;    ///< read from the wdir at the same index; empty: no file
  std::vector<std::uint32_t> in_path;  ///< 1: a script without a slash may also be in `path`
  void fields(auto& a) { a(path, wdirs, programs, names, cores, no_devices, scripts, in_path); }
  bool operator==(const QueryHost&) const = default;
};

/// Run short programs on the host, side by side. The agent answers with CommandResults.
struct RunCommands {
  static constexpr std::uint8_t kType = 12;
  std::string path;                   ///< PATH for the lookup of the programs
  std::uint32_t patience_ms = 0;      ///< time limit for all commands together
  std::vector<std::string> commands;  ///< the words of each command, separated by newlines
  void fields(auto& a) { a(path, patience_ms, commands); }
  bool operator==(const RunCommands&) const = default;
};

// ---- both ways ----

/// Each side numbers its own Pings from 1.
struct Ping {
  static constexpr std::uint8_t kType = 16;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint64_t number = 0;
  std::uint64_t answered = 0;  ///< the highest number of the receiver's Pings that the sender has received
  void fields(auto& a) { a(number, answered); }
  bool operator==(const Ping&) const = default;
};

// ---- agent to launcher ----

struct Hello {
  static constexpr std::uint8_t kType = 32;
  static constexpr std::uint32_t kMost = kMostNames;
  std::uint32_t version = kVersion;
  std::string host;     ///< nodename of uname
  std::string machine;  ///< machine of uname
  std::uint32_t pid = 0;
  std::int64_t time_ns = 0;  ///< CLOCK_REALTIME
  std::string identity;      ///< equal for two names of one host, different for two hosts
  void fields(auto& a) { a(version, host, machine, pid, time_ns, identity); }
  bool operator==(const Hello&) const = default;
};

/// The answer to ReadClock.
struct ClockReading {
  static constexpr std::uint8_t kType = 63;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::int64_t time_ns = 0;  ///< CLOCK_REALTIME
  void fields(auto& a) { a(time_ns); }
  bool operator==(const ClockReading&) const = default;
};

/// A text for a user with -v, or the last text of a failing agent.
struct Log {
  static constexpr std::uint8_t kType = 38;
  static constexpr std::uint32_t kMost = kMostText;
  static constexpr std::uint8_t kDetail = 0;
  static constexpr std::uint8_t kInformation = 1;
  static constexpr std::uint8_t kWarning = 2;  ///< also shown without -v
  static constexpr std::uint8_t kError = 3;
  static constexpr std::uint8_t kNoSetup = 4;  ///< as kError: the agent ends because it received no Setup in time
  std::uint8_t level = kDetail;
  std::string text;
  void fields(auto& a) { a(level, text); }
  bool operator==(const Log&) const = default;
};

/// A signal to the agent that the launcher did not send: from a resource manager, at the end of a container or host, or
/// from a person. USR1 and USR2 announce the end. Equal signals within a second count once, but a direct signal after a
/// forwarded one is reported, too. The launcher answers at once, with Ping or another message, and decides. Otherwise
/// the launcher is lost.
struct TerminationNotice {
  static constexpr std::uint8_t kType = 56;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t signal = 0;
  std::int64_t time_ns = 0;  ///< CLOCK_REALTIME of the signal
  bool direct = true;  ///< the sender signalled the agent's worker, as a batch system that signals all processes does;
                       ///< false: the guardian forwarded the signal, and the ranks may not have it
  void fields(auto& a) { a(signal, time_ns, direct); }
  bool operator==(const TerminationNotice&) const = default;
};

/// The last frame: the processes of the job that remain on the host. `left` is empty if no process is left.
struct Clean {
  static constexpr std::uint8_t kType = 39;
  static constexpr std::uint32_t kMost = kMostText;
  std::vector<std::string> left;  ///< "pid 123 (python3), unkillable", …
  void fields(auto& a) { a(left); }
  bool operator==(const Clean&) const = default;
};

/// The answer to QueryHost. The lists match those of QueryHost by index.
struct HostInfo {
  static constexpr std::uint8_t kType = 40;
  static constexpr std::uint32_t kMost = 4u << 20;
  std::int64_t time_ns = 0;  ///< CLOCK_REALTIME at the start of the query
  std::string version;       ///< version of the agent
  std::uint32_t cpus = 0;    ///< number of CPUs in the affinity mask, limited by the quota of the cgroup
  std::string cpus_from;     ///< "affinity mask", "cgroup cpu.max", …
  std::uint8_t device_kind = 0;
  std::vector<std::uint32_t> devices;
  std::string devices_from;
  std::int64_t shm_free = -1;              ///< bytes in /dev/shm; -1: not available
  std::int64_t open_files = -1;            ///< the limit of ranks; -1: none
  std::vector<std::uint32_t> wdir_errors;  ///< errno of entering each directory; 0: success
  std::vector<std::string> programs;       ///< path of each program; empty: see `missing`
  std::vector<std::string> missing;        ///< "cannot execute ./train"; empty: found
  /// addresses of each name, separated by blanks; empty: the name does not resolve
  std::vector<std::string> addresses;
  std::string unresolved;                     ///< the reason why some names could not be looked up; empty: success
  std::vector<std::string> interfaces;        ///< addresses of the host, without loopback: "eth0 10.0.0.1"
  std::vector<std::string> scripts;           ///< path of each file; empty: unreadable
  std::vector<std::uint32_t> script_errors;   ///< errno of reading each file; 0: success
  std::vector<std::uint32_t> program_errors;  ///< errno of each missing program; 0: found
  void fields(auto& a) {
    a(time_ns, version, cpus, cpus_from, device_kind, devices, devices_from, shm_free, open_files, wdir_errors,
      programs, missing, addresses, unresolved, interfaces, scripts, script_errors, program_errors);
  }
  bool operator==(const HostInfo&) const = default;
};

/// The answer to RunCommands. The lists match the commands by index.
struct CommandResults {
  static constexpr std::uint8_t kType = 41;
  static constexpr std::uint32_t kMost = 4u << 20;
  std::vector<std::string> printed;  ///< stdout and stderr
  std::vector<std::uint32_t> codes;  ///< exit codes as in a shell; 127: program not found; 124: timed out
  void fields(auto& a) { a(printed, codes); }
  bool operator==(const CommandResults&) const = default;
};

// ---- directories and files, launcher to agent ----

/// Make the directories of the host's ranks. At most once per round, before the first Spawn. The agent answers with
/// Prepared. In a later round, the agent keeps the filled directories, and unlocks directories that are not in `dirs`.
struct Prepare {
  static constexpr std::uint8_t kType = 14;
  std::vector<std::string> dirs;   ///< absolute
  std::vector<std::string> bases;  ///< for each of `dirs`, by index: a directory that must exist
  std::vector<std::string> kept;   ///< absolute names of the launcher's files below these directories, which are kept
  bool staged = false;             ///< Stage follows
  bool later = false;              ///< a later round: another agent of the job may still unlock the directories
  void fields(auto& a) { a(dirs, bases, kept, staged, later); }
  bool operator==(const Prepare&) const = default;
};

/// The next bytes of the archive (wire/archive.h), whose files go into each directory that Prepare listed.
struct Stage {
  static constexpr std::uint8_t kType = 15;
  std::string bytes;
  bool eof = false;
  void fields(auto& a) { a(bytes, eof); }
  bool operator==(const Stage&) const = default;
};

/// A file for the job's ranks on this host. Only its owner may read it; it is removed at the end of the job. Sent
/// before the Programs.
struct JobFile {
  static constexpr std::uint8_t kType = 11;
  std::string name;      ///< without a directory
  std::string variable;  ///< name of the ranks' variable with its path, unless their programs set it
  std::string bytes;
  void fields(auto& a) { a(name, variable, bytes); }
  bool operator==(const JobFile&) const = default;
};

// ---- agent to launcher ----

/// The answer to Prepare, and to the last Stage.
struct Prepared {
  static constexpr std::uint8_t kType = 44;
  static constexpr std::uint32_t kMost = kMostText;
  std::string why;   ///< the failed step; empty: success
  std::string hint;  ///< the next step; may be empty
  void fields(auto& a) { a(why, hint); }
  bool operator==(const Prepared&) const = default;
};

/// Grants further bytes of Stage.
struct StageCredit {
  static constexpr std::uint8_t kType = 45;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t bytes = 0;
  void fields(auto& a) { a(bytes); }
  bool operator==(const StageCredit&) const = default;
};

}  // namespace dlaunch::wire
