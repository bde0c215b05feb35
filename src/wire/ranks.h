// Starting ranks, their streams and their ends. PURE.
// docs/wire.md has each message byte by byte; wire/message.h says how one is added.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/limits.h"

namespace dlaunch::wire {

/// What a rank's stream is connected to on its host.
enum class StreamMode : std::uint8_t {
  null = 0,    ///< /dev/null
  pipe = 1,    ///< carried in frames (or handed over: Setup::hand_over)
  file = 2,    ///< a path on the host, opened with O_CREAT|O_TRUNC
  joined = 3,  ///< stderr only: the same as stdout
  pty = 4,     ///< stdout (and stdin when a pipe was asked) are one terminal
};

// ---- launcher to agent ----

/// What the ranks of this host share, once there is a plan. Sent before the first Spawn.
struct Layout {
  static constexpr std::uint8_t kType = 9;
  std::uint32_t credit = 0;  ///< first grant for each output stream, in bytes
  std::uint8_t bind_to = 0;  ///< plan::BindTo; the host computes the masks from its own topology
  std::uint8_t map_by = 0;   ///< plan::MapBy
  std::uint8_t rank_by = 0;  ///< plan::RankBy
  std::uint32_t local_ranks = 0;
  bool oversubscribe = false;
  bool report_cpus = false;  ///< Started carries the affinity as read back
  std::uint32_t cores_per_rank = 1;
  bool if_supported = false;           ///< where there are too few cores, no rank is bound
  std::uint8_t device_kind = 0;        ///< plan::DeviceKind; with BindTo::device
  std::vector<std::uint32_t> devices;  ///< one for each local rank, with BindTo::device; kNoDevice: none is known
  bool error_files = false;            ///< ranks without a TORCHELASTIC_ERROR_FILE get one, and WroteError comes
  void fields(auto& a) {
    a(credit, bind_to, map_by, rank_by, local_ranks, oversubscribe, report_cpus, cores_per_rank, if_supported,
      device_kind, devices, error_files);
  }
  bool operator==(const Layout&) const = default;
};

/// What the ranks of an app share.
struct Program {
  static constexpr std::uint8_t kType = 2;
  std::uint32_t app = 0;
  std::vector<std::string> argv;
  std::vector<std::string> env;  ///< NAME=VALUE
  std::string wdir;
  void fields(auto& a) { a(app, argv, env, wdir); }
  bool operator==(const Program&) const = default;
};

/// Start one rank. The agent answers SpawnFailed, or Started and later Ended; or Started and then SpawnFailed, when its
/// program could not be executed after all.
struct Spawn {
  static constexpr std::uint8_t kType = 3;
  std::uint32_t rank = 0;
  std::uint32_t app = 0;
  std::uint32_t local_rank = 0;  ///< its number among the host's ranks; beyond Layout's local_ranks it is not bound
  std::vector<std::string> env;  ///< this rank's own
  StreamMode in = StreamMode::null;
  StreamMode out = StreamMode::pipe;
  StreamMode err = StreamMode::pipe;
  std::string out_path;  ///< with StreamMode::file
  std::string err_path;
  std::string slots;      ///< bind it to these (plan/slot_list.h), whatever Layout says; empty: as Layout says
  std::string dir;        ///< absolute; the one of Prepare's in which it runs; empty: its program's
  bool save_env = false;  ///< write its environment to env.log in `dir`
  void fields(auto& a) { a(rank, app, local_rank, env, in, out, err, out_path, err_path, slots, dir, save_env); }
  bool operator==(const Spawn&) const = default;
};

/// Bytes for a rank's stdin; `eof` closes it after them.
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
  bool if_caught = false;  ///< only to a rank's first processes that catch it; the agent answers Uncaught
  std::vector<std::uint32_t> ranks = {};  ///< with `if_caught`: only these; none: all
  void fields(auto& a) { a(signal, if_caught, ranks); }
  bool operator==(const Signal&) const = default;
};

/// The terminal's size, for ranks that have one.
struct WindowSize {
  static constexpr std::uint8_t kType = 6;
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  void fields(auto& a) { a(rows, columns); }
  bool operator==(const WindowSize&) const = default;
};

// ---- both ways ----

/// That many more bytes may come on `stream`: 0 stdin (agent to launcher), 1 stdout, 2 stderr (launcher to agent).
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
  std::uint8_t fds = 0;  ///< which read ends came with this frame, in this order: bit 0 stdout's, bit 1 stderr's
  std::vector<std::uint32_t> cpus;  ///< as read back, when asked for
  void fields(auto& a) { a(rank, pid, time_ns, fds, cpus); }
  bool operator==(const Started&) const = default;
};

struct SpawnFailed {
  static constexpr std::uint8_t kType = 34;
  static constexpr std::uint32_t kMost = kMostText;
  std::uint32_t rank = 0;
  std::uint32_t error = 0;  ///< errno; 0 when no system call failed
  std::string what;         ///< the step with its operand
  std::int64_t time_ns = 0;
  void fields(auto& a) { a(rank, error, what, time_ns); }
  bool operator==(const SpawnFailed&) const = default;
};

/// At most as many bytes as were granted for the stream, and kMaxOutput. None of them: the stream has ended.
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

/// What a rank that failed wrote into the TORCHELASTIC_ERROR_FILE that it was given. Sent right before Ended.
struct WroteError {
  static constexpr std::uint8_t kType = 62;
  static constexpr std::uint32_t kMost = kMostErrorText + kMostNumbers;
  std::uint32_t rank = 0;
  std::string text;  ///< as the rank wrote it, of any bytes
  void fields(auto& a) { a(rank, text); }
  bool operator==(const WroteError&) const = default;
};

/// Sent as soon as the rank is reaped: its streams may still bring what it wrote, and end by themselves.
struct Ended {
  static constexpr std::uint8_t kType = 36;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t rank = 0;
  std::uint32_t wait_status = 0;
  bool out_of_memory = false;
  std::int64_t time_ns = 0;
  bool in_mpi = false;  ///< it ended between MPI_Init and MPI_Finalize
  void fields(auto& a) { a(rank, wait_status, out_of_memory, time_ns, in_mpi); }
  bool operator==(const Ended&) const = default;
};

/// The answer to Signal with `if_caught`.
struct Uncaught {
  static constexpr std::uint8_t kType = 60;
  static constexpr std::uint32_t kMost = kMostText;
  std::uint32_t signal = 0;
  std::vector<std::uint32_t> ranks;  ///< in which no process catches it: they got none
  void fields(auto& a) { a(signal, ranks); }
  bool operator==(const Uncaught&) const = default;
};

/// The rank closed its stdin; send it no more.
struct StdinClosed {
  static constexpr std::uint8_t kType = 37;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t rank = 0;
  void fields(auto& a) { a(rank); }
  bool operator==(const StdinClosed&) const = default;
};

}  // namespace dlaunch::wire
