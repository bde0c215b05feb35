// The start of ranks, their streams and their ends. PURE. docs/wire.md has the bytes of each message; wire/message.h
// describes how to add a message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/limits.h"

namespace dlaunch::wire {

/// The target of a stream of a rank on its host.
enum class StreamMode : std::uint8_t {
  null = 0,    ///< /dev/null
  pipe = 1,    ///< sent in frames (or handed over: Setup::hand_over)
  file = 2,    ///< a path on the host, opened with O_CREAT|O_TRUNC
  joined = 3,  ///< stderr only: the same as stdout
  pty = 4,     ///< one terminal for stdout (and for stdin, if a pipe was requested)
};

// ---- launcher to agent ----

/// The common data of the ranks on this host, after the plan. Sent before the first Spawn.
struct Layout {
  static constexpr std::uint8_t kType = 9;
  std::uint32_t credit = 0;  ///< first grant for each output stream, in bytes
  std::uint8_t bind_to = 0;  ///< plan::BindTo; the host computes the masks from its own topology
  std::uint8_t map_by = 0;   ///< plan::MapBy
  std::uint8_t rank_by = 0;  ///< plan::RankBy
  std::uint32_t local_ranks = 0;
  bool oversubscribe = false;
  bool report_cpus = false;  ///< Started contains the affinity of the started rank
  std::uint32_t cores_per_rank = 1;
  bool if_supported = false;           ///< do not bind ranks if there are too few cores
  std::uint8_t device_kind = 0;        ///< plan::DeviceKind; with BindTo::device
  std::vector<std::uint32_t> devices;  ///< one device per local rank, with BindTo::device; kNoDevice: unknown
  /// ranks without TORCHELASTIC_ERROR_FILE get an error file, and the agent sends WroteError
  bool error_files = false;
  bool restart_possible = false;  ///< another round may follow
  std::uint32_t lease_ms =
      0;  ///< length of the agent's lease in this round (link/heartbeat.h); 0: Setup's pause_limit_ms
  void fields(auto& a) {
    a(credit, bind_to, map_by, rank_by, local_ranks, oversubscribe, report_cpus, cores_per_rank, if_supported,
      device_kind, devices, error_files, restart_possible, lease_ms);
  }
  bool operator==(const Layout&) const = default;
};

/// The common data of the ranks of an app.
struct Program {
  static constexpr std::uint8_t kType = 2;
  std::uint32_t app = 0;
  std::vector<std::string> argv;
  std::vector<std::string> env;  ///< NAME=VALUE
  std::string wdir;
  void fields(auto& a) { a(app, argv, env, wdir); }
  bool operator==(const Program&) const = default;
};

/// Start one rank. The agent answers with SpawnFailed, or with Started and later Ended. SpawnFailed may also follow
/// Started, if the exec of the program failed.
struct Spawn {
  static constexpr std::uint8_t kType = 3;
  std::uint32_t rank = 0;
  std::uint32_t app = 0;
  std::uint32_t local_rank = 0;  ///< local rank; not bound above Layout's local_ranks
  std::vector<std::string> env;  ///< variables of this rank only
  StreamMode in = StreamMode::null;
  StreamMode out = StreamMode::pipe;
  StreamMode err = StreamMode::pipe;
  std::string out_path;  ///< with StreamMode::file
  std::string err_path;
  std::string slots;      ///< bind to these CPUs (plan/slot_list.h), instead of Layout; empty: as in Layout
  std::string dir;        ///< absolute working directory, an item of Prepare's dirs; empty: that of the program
  bool save_env = false;  ///< write the environment to env.log in `dir`
  void fields(auto& a) { a(rank, app, local_rank, env, in, out, err, out_path, err_path, slots, dir, save_env); }
  bool operator==(const Spawn&) const = default;
};

/// Bytes for the stdin of a rank. `eof` closes it after the bytes.
struct Stdin {
  static constexpr std::uint8_t kType = 4;
  std::uint32_t rank = 0;
  std::string bytes;
  bool eof = false;
  void fields(auto& a) { a(rank, bytes, eof); }
  bool operator==(const Stdin&) const = default;
};

/// Send a signal to the process group of every running rank.
struct Signal {
  static constexpr std::uint8_t kType = 5;
  std::uint32_t signal = 0;
  bool if_caught = false;  ///< only to the first processes of each rank that catch it; the agent answers with Uncaught
  std::vector<std::uint32_t> ranks = {};  ///< with `if_caught`: only these ranks; empty: all
  void fields(auto& a) { a(signal, if_caught, ranks); }
  bool operator==(const Signal&) const = default;
};

/// The size of the terminal, for ranks with a terminal.
struct WindowSize {
  static constexpr std::uint8_t kType = 6;
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  void fields(auto& a) { a(rows, columns); }
  bool operator==(const WindowSize&) const = default;
};

// ---- both ways ----

/// Grants further bytes on `stream`: 0 stdin (agent to launcher), 1 stdout, 2 stderr (launcher to agent).
struct Credit {
  static constexpr std::uint8_t kType = 17;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t rank = 0;
  std::uint8_t stream = 0;
  std::uint32_t bytes = 0;
  void fields(auto& a) { a(rank, stream, bytes); }
  bool operator==(const Credit&) const = default;
};

// ---- agent to launcher ----

struct Started {
  static constexpr std::uint8_t kType = 33;
  static constexpr std::uint32_t kMost = kMostNumbers + 4 * kMostCpus;
  std::uint32_t rank = 0;
  std::uint32_t pid = 0;
  std::int64_t time_ns = 0;
  std::uint8_t fds = 0;             ///< the read ends in this frame, in this order: bit 0 stdout, bit 1 stderr
  std::vector<std::uint32_t> cpus;  ///< affinity after the start, if requested
  void fields(auto& a) { a(rank, pid, time_ns, fds, cpus); }
  bool operator==(const Started&) const = default;
};

struct SpawnFailed {
  static constexpr std::uint8_t kType = 34;
  static constexpr std::uint32_t kMost = kMostText;
  std::uint32_t rank = 0;
  std::uint32_t error = 0;  ///< errno; 0 when no system call failed
  std::string what;         ///< the failed step with its operand
  std::int64_t time_ns = 0;
  void fields(auto& a) { a(rank, error, what, time_ns); }
  bool operator==(const SpawnFailed&) const = default;
};

/// At most the granted number of bytes, and kMaxOutput. No bytes: the stream has ended.
struct OutputData {
  static constexpr std::uint8_t kType = 35;
  static constexpr std::uint32_t kMost = kMaxOutput + kMostNumbers;
  std::uint32_t rank = 0;
  std::uint8_t stream = 1;  ///< 1 stdout, 2 stderr
  std::int64_t time_ns = 0;
  std::string bytes;
  void fields(auto& a) { a(rank, stream, time_ns, bytes); }
  bool operator==(const OutputData&) const = default;
};

/// The content of the TORCHELASTIC_ERROR_FILE of a failed rank. Sent right before Ended.
struct WroteError {
  static constexpr std::uint8_t kType = 62;
  static constexpr std::uint32_t kMost = kMostErrorText + kMostNumbers;
  std::uint32_t rank = 0;
  std::string text;  ///< as written by the rank, any bytes
  void fields(auto& a) { a(rank, text); }
  bool operator==(const WroteError&) const = default;
};

/// Sent when the rank was reaped. Its streams may still deliver output; they end separately.
struct Ended {
  static constexpr std::uint8_t kType = 36;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t rank = 0;
  std::uint32_t wait_status = 0;
  bool out_of_memory = false;
  std::int64_t time_ns = 0;
  bool in_mpi = false;        ///< ended between MPI_Init and MPI_Finalize
  bool after_signal = false;  ///< reaped after a Signal with HUP, INT, QUIT or TERM reached the rank
  void fields(auto& a) { a(rank, wait_status, out_of_memory, time_ns, in_mpi, after_signal); }
  bool operator==(const Ended&) const = default;
};

/// The answer to Signal with `if_caught`.
struct Uncaught {
  static constexpr std::uint8_t kType = 60;
  static constexpr std::uint32_t kMost = kMostText;
  std::uint32_t signal = 0;
  std::vector<std::uint32_t> ranks;  ///< ranks without a process that catches the signal: no process got it
  void fields(auto& a) { a(signal, ranks); }
  bool operator==(const Uncaught&) const = default;
};

/// The rank closed its stdin: send no more bytes.
struct StdinClosed {
  static constexpr std::uint8_t kType = 37;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t rank = 0;
  void fields(auto& a) { a(rank); }
  bool operator==(const StdinClosed&) const = default;
};

// The activity of the processes of a host's ranks. PURE. docs/wire.md has the bytes of each message; wire/message.h
// describes how to add a message.

// ---- launcher to agent ----

/// Sample the ranks of this host. The agent answers with Stacks, within 1.5 s. Requests are answered one after the
/// other.
struct SampleStacks {
  static constexpr std::uint8_t kType = 29;
  std::uint32_t id = 0;              ///< repeated in the answer
  std::vector<std::uint32_t> ranks;  ///< the requested ranks; empty: all ranks here
  bool whole = false;                ///< also the stacks of all threads of all processes, as text
  void fields(auto& a) { a(id, ranks, whole); }
  bool operator==(const SampleStacks&) const = default;
};

// ---- agent to launcher ----

/// The answer to SampleStacks. The lists match `ranks` by index, except `stacks`, `texts` and `remarks`. Ended ranks
/// are left out.
struct Stacks {
  static constexpr std::uint8_t kType = 57;
  static constexpr std::uint32_t kMost = 64u << 10;
  static constexpr std::uint8_t kTraced = 1;      ///< bits of `flags`: a debugger is attached to a process of the rank
  static constexpr std::uint8_t kStopped = 2;     ///< a process is stopped (SIGSTOP, job control)
  static constexpr std::uint8_t kPython = 4;      ///< `locals` and `all_locals` are hashes of Python frames
  static constexpr std::uint8_t kIncomplete = 8;  ///< a stack or a counter is missing; see `remarks`
  /// a main thread is in a call that waits for other ranks, as MPI_Recv; `locals` also covers its callers
  static constexpr std::uint8_t kInCall = 16;
  static constexpr std::uint8_t kTimedOut = 32;  ///< timed out before the stack was read: no stack and no hashes
  static constexpr std::uint32_t kNone = ~0u;
  std::uint32_t id = 0;
  std::int64_t time_ns = 0;  ///< CLOCK_REALTIME at the start of the sample
  std::vector<std::uint32_t> ranks;
  std::vector<std::uint32_t> pids;     ///< the shown process: the rank, or its first descendant with Python
  std::vector<std::uint32_t> stack;    ///< index of the main thread's frames in `stacks`
  std::vector<std::uint32_t> text;     ///< index of the full report in `texts`; kNone: too large, or not requested
  std::vector<std::uint32_t> states;   ///< state of the main thread, as in proc(5): 'R', 'S', 'D', 't', 'T', 'Z'
  std::vector<std::string> waits;      ///< wchan of the main thread; empty: running, or unknown
  std::vector<std::int64_t> cpu_ms;    ///< CPU time of the rank and all its descendants since their start
  std::vector<std::int64_t> io_bytes;  ///< rchar + wchar of the same processes; -1: unknown
  /// hash of the local variables in the main thread of each process; it changes while the program advances
  std::vector<std::int64_t> locals;
  std::vector<std::int64_t> all_locals;  ///< the same hash for all threads, from the last time that the main thread ran
  std::vector<std::uint32_t> flags;
  std::vector<std::string> stacks;   ///< equal for two ranks in the same function: one line per frame, innermost first
  std::vector<std::string> texts;    ///< all threads of all processes, as text for a file
  std::vector<std::string> remarks;  ///< the reason for missing parts, and the next step
  void fields(auto& a) {
    a(id, time_ns, ranks, pids, stack, text, states, waits, cpu_ms, io_bytes, locals, all_locals, flags, stacks, texts,
      remarks);
  }
  bool operator==(const Stacks&) const = default;

  /// Returns true if the lists match and each index is valid. The launcher checks an answer of an agent with this
  /// function.
  bool sound() const {
    const size_t n = ranks.size();
    return pids.size() == n && stack.size() == n && text.size() == n && states.size() == n && waits.size() == n &&
           cpu_ms.size() == n && io_bytes.size() == n && locals.size() == n && all_locals.size() == n &&
           flags.size() == n && std::ranges::all_of(stack, [this](auto i) { return i < stacks.size(); }) &&
           std::ranges::all_of(text, [this](auto i) { return i == kNone || i < texts.size(); });
  }
};

}  // namespace dlaunch::wire
