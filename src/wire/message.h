// The words between launcher and agent. Values; docs/wire.md has them byte by byte. PURE.
//
// Each message lists its fields once, in `fields`, which both the encoder and the decoder walk. A new message is a
// struct with a fresh kType, its fields, and a place in `Message`. Numbers of types are never used again.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

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

/// What a rank's stream is connected to on its host.
enum class StreamMode : std::uint8_t {
  null = 0,    ///< /dev/null
  pipe = 1,    ///< carried in frames (or handed over: Setup::hand_over)
  file = 2,    ///< a path on the host, opened with O_CREAT|O_TRUNC
  joined = 3,  ///< stderr only: the same as stdout
  pty = 4,     ///< stdout (and stdin when a pipe was asked) are one terminal
};

// ---- launcher to agent ----

/// First frame. The agent answers Hello.
struct Setup {
  static constexpr std::uint8_t kType = 1;
  std::uint32_t version = kVersion;
  std::string job_id;
  std::uint32_t heartbeat_ms = 0;  ///< a Ping at least this often; three missed end the job here
  std::uint32_t grace_ms = 0;      ///< between TERM and KILL when the link is lost
  bool hand_over = false;          ///< the link is a unix socket: pass the read ends of output pipes with Started
  template <class A>
  void fields(A& a) {
    a(version), a(job_id), a(heartbeat_ms), a(grace_ms), a(hand_over);
  }
  bool operator==(const Setup&) const = default;
};

/// What the ranks of this host share, once there is a plan. Before the first Spawn.
struct Layout {
  static constexpr std::uint8_t kType = 9;
  std::uint32_t credit = 0;  ///< first grant for every output stream, bytes
  std::uint8_t bind_to = 0;  ///< plan::BindTo; the host knows its own topology and works out the masks
  std::uint8_t map_by = 0;   ///< plan::MapBy
  std::uint8_t rank_by = 0;  ///< plan::RankBy
  std::uint32_t local_ranks = 0;
  bool oversubscribe = false;
  bool report_cpus = false;  ///< Started tells the affinity read back
  std::uint32_t cores_per_rank = 1;
  bool if_supported = false;           ///< where cores are too few, no rank is bound
  std::uint8_t device_kind = 0;        ///< plan::DeviceKind; with BindTo::device
  std::vector<std::uint32_t> devices;  ///< of each local rank, with BindTo::device; kNoDevice: none that is known
  template <class A>
  void fields(A& a) {
    a(credit), a(bind_to), a(map_by), a(rank_by), a(local_ranks), a(oversubscribe), a(report_cpus), a(cores_per_rank),
        a(if_supported), a(device_kind), a(devices);
  }
  bool operator==(const Layout&) const = default;
};

/// What an app's ranks share.
struct Program {
  static constexpr std::uint8_t kType = 2;
  std::uint32_t app = 0;
  std::vector<std::string> argv;
  std::vector<std::string> env;  ///< NAME=VALUE
  std::string wdir;
  template <class A>
  void fields(A& a) {
    a(app), a(argv), a(env), a(wdir);
  }
  bool operator==(const Program&) const = default;
};

/// Start one rank. The agent answers NotStarted, or Started and later Ended; or Started and then NotStarted, when its
/// program could not be executed after all.
struct Spawn {
  static constexpr std::uint8_t kType = 3;
  std::uint32_t rank = 0;
  std::uint32_t app = 0;
  std::uint32_t local_rank = 0;  ///< its place among the host's ranks; one beyond Layout's is bound to nothing
  std::vector<std::string> env;  ///< this rank's own
  StreamMode in = StreamMode::null;
  StreamMode out = StreamMode::pipe;
  StreamMode err = StreamMode::pipe;
  std::string out_path;  ///< with StreamMode::file
  std::string err_path;
  std::string slots;      ///< bind it to these (plan/slot_list.h), whatever Setup says; empty: as Setup says
  std::string dir;        ///< absolute; one of Prepare's, which it runs in; empty: its program's
  bool save_env = false;  ///< write its environment to env.log there
  template <class A>
  void fields(A& a) {
    a(rank), a(app), a(local_rank), a(env), a(in), a(out), a(err), a(out_path), a(err_path), a(slots), a(dir),
        a(save_env);
  }
  bool operator==(const Spawn&) const = default;
};

/// Bytes for a rank's stdin; `eof` closes it after them.
struct Stdin {
  static constexpr std::uint8_t kType = 4;
  std::uint32_t rank = 0;
  std::string bytes;
  bool eof = false;
  template <class A>
  void fields(A& a) {
    a(rank), a(bytes), a(eof);
  }
  bool operator==(const Stdin&) const = default;
};

/// A signal for every running rank's process group.
struct Signal {
  static constexpr std::uint8_t kType = 5;
  std::uint32_t signal = 0;
  template <class A>
  void fields(A& a) {
    a(signal);
  }
  bool operator==(const Signal&) const = default;
};

/// The terminal's size, for ranks that have one.
struct WindowSize {
  static constexpr std::uint8_t kType = 6;
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  template <class A>
  void fields(A& a) {
    a(rows), a(columns);
  }
  bool operator==(const WindowSize&) const = default;
};

/// The launcher stops (Ctrl-Z) and will be silent: do not take that for its death until the next frame.
struct Pause {
  static constexpr std::uint8_t kType = 7;
  template <class A>
  void fields(A&) {}
  bool operator==(const Pause&) const = default;
};

/// No more ranks; end what the job left, confirm with Clean, exit.
struct Finish {
  static constexpr std::uint8_t kType = 8;
  template <class A>
  void fields(A&) {}
  bool operator==(const Finish&) const = default;
};

/// To an agent that has no ranks, right after Setup: another one of this job was lost here. End what its ranks left, by
/// the job's id, and confirm with Clean.
struct Sweep {
  static constexpr std::uint8_t kType = 28;
  template <class A>
  void fields(A&) {}
  bool operator==(const Sweep&) const = default;
};

/// Look around on the host. The agent answers Facts; with names only once they are resolved.
struct Survey {
  static constexpr std::uint8_t kType = 10;
  std::string path;                    ///< PATH of the ranks, in which programs are looked up
  std::vector<std::string> wdirs;      ///< directories that should be there
  std::vector<std::string> programs;   ///< each found from the directory in its place; empty: none is looked for
  std::vector<std::string> names;      ///< to be resolved
  bool cores = false;                  ///< count cores for CPUs
  bool no_devices = false;             ///< leave devices aside
  std::vector<std::string> scripts;    ///< to be read from the directory in its place; empty: none is
  std::vector<std::uint32_t> in_path;  ///< 1: one without a slash may be in `path`, too
  template <class A>
  void fields(A& a) {
    a(path), a(wdirs), a(programs), a(names), a(cores), a(no_devices), a(scripts), a(in_path);
  }
  bool operator==(const Survey&) const = default;
};

/// Make the directories of the host's ranks. Once, before the first Spawn. The agent answers Prepared.
struct Prepare {
  static constexpr std::uint8_t kType = 14;
  std::vector<std::string> dirs;   ///< absolute
  std::vector<std::string> bases;  ///< of each, in its place: a directory that must be there already
  std::vector<std::string> kept;   ///< absolute names of files that the launcher writes below them
  bool staged = false;             ///< Stage follows
  template <class A>
  void fields(A& a) {
    a(dirs), a(bases), a(kept), a(staged);
  }
  bool operator==(const Prepare&) const = default;
};

/// The next bytes of the archive (wire/archive.h) whose files go into each of Prepare's directories.
struct Stage {
  static constexpr std::uint8_t kType = 15;
  std::string bytes;
  bool eof = false;
  template <class A>
  void fields(A& a) {
    a(bytes), a(eof);
  }
  bool operator==(const Stage&) const = default;
};

/// A file that the job's ranks here need: kept where only its owner reads it, and gone with the job. Before the
/// Programs.
struct File {
  static constexpr std::uint8_t kType = 11;
  std::string name;      ///< without a directory
  std::string variable;  ///< of the ranks, that holds its path there unless their programs have it already
  std::string bytes;
  template <class A>
  void fields(A& a) {
    a(name), a(variable), a(bytes);
  }
  bool operator==(const File&) const = default;
};

/// Run short programs there, side by side. The agent answers Told.
struct Inquire {
  static constexpr std::uint8_t kType = 12;
  std::string path;                   ///< PATH in which they are looked up
  std::uint32_t patience_ms = 0;      ///< for all of them
  std::vector<std::string> commands;  ///< the words of each, with a newline between
  template <class A>
  void fields(A& a) {
    a(path), a(patience_ms), a(commands);
  }
  bool operator==(const Inquire&) const = default;
};

/// Ranks of this host are ranks of an MPI world: each gets a PMI connection (docs/mpi.md). Before the first Spawn of
/// one of them. World 1 is the job as it was started; each that its ranks spawn has the next number.
struct MpiWorld {
  static constexpr std::uint8_t kType = 13;
  std::uint32_t world = 1;
  std::uint32_t first = 0;         ///< number of its rank 0, as Spawn has it; the others follow
  std::uint32_t size = 0;          ///< its ranks
  std::uint32_t here = 0;          ///< those of this host
  std::uint32_t first_app = 0;     ///< number of its first program, as Program has it
  std::string space;               ///< the name of its key-value space
  std::uint32_t universe = 0;      ///< slots of the job
  std::string mapping;             ///< PMI_process_mapping; empty: not told
  bool alone = false;              ///< no other host takes part: fences end here
  bool probe = false;              ///< look first what MPI a program may use, if any
  std::vector<std::string> pairs;  ///< in its space from the start: key, value, key, value, …
  std::string parent;              ///< the space of the world whose rank asked for this one; empty: world 1
  bool pmi1 = true;                ///< the MPICH family is served
  bool pmix = false;               ///< so are Open MPI and other clients of PMIx
  bool personal = false;           ///< its ranks get all that Open MPI's own launcher says
  std::string no_pmix;             ///< why a program that needs PMIx gets none; empty: it was not asked for
  std::string pmix_space;          ///< PMIx's name of this world, which no other user can guess
  std::uint32_t node = 0;          ///< this host's place among the job's
  std::string name;                ///< with PMIx: its name there
  template <class A>
  void fields(A& a) {
    a(world), a(first), a(size), a(here), a(first_app), a(space), a(universe), a(mapping), a(alone), a(probe), a(pairs),
        a(parent), a(pmi1), a(pmix), a(personal), a(no_pmix), a(pmix_space), a(node), a(name);
  }
  bool operator==(const MpiWorld&) const = default;
};

/// What all hosts put before a fence of this world; the one with `last` ends it.
struct Shared {
  static constexpr std::uint8_t kType = 18;
  std::uint32_t world = 1;
  std::vector<std::string> pairs;  ///< key, value, key, value, …
  bool last = false;
  bool broken = false;  ///< there is no fence: whoever waits in it is let down
  template <class A>
  void fields(A& a) {
    a(world), a(pairs), a(last), a(broken);
  }
  bool operator==(const Shared&) const = default;
};

/// The answer to NameAsk.
struct NameAnswer {
  static constexpr std::uint8_t kType = 19;
  std::uint32_t rank = 0;
  bool ok = false;
  std::string port;  ///< that a lookup found
  template <class A>
  void fields(A& a) {
    a(rank), a(ok), a(port);
  }
  bool operator==(const NameAnswer&) const = default;
};

/// The answer to SpawnAsk.
struct SpawnAnswer {
  static constexpr std::uint8_t kType = 20;
  std::uint32_t rank = 0;
  bool ok = false;          ///< the ranks are being started
  std::uint32_t world = 0;  ///< their world
  std::string space;        ///< the name of its key-value space
  template <class A>
  void fields(A& a) {
    a(rank), a(ok), a(world), a(space);
  }
  bool operator==(const SpawnAnswer&) const = default;
};

/// A collective of PMIx is over, on all hosts that take part. Its data comes in pieces, in this order.
struct PmixShared {
  static constexpr std::uint8_t kType = 21;
  std::uint8_t kind = 0;    ///< as PmixCollect
  std::string members;      ///< as PmixCollect
  std::string data;         ///< of all hosts, one behind the other
  bool last = false;        ///< and with it
  std::int32_t status = 0;  ///< PMIx's; 0: it succeeded
  template <class A>
  void fields(A& a) {
    a(kind), a(members), a(data), a(last), a(status);
  }
  bool operator==(const PmixShared&) const = default;
};

/// What has a rank of this host for others? The agent answers PmixModex.
struct PmixModexAsk {
  static constexpr std::uint8_t kType = 22;
  std::uint32_t id = 0;
  std::string space;
  std::uint32_t of = 0;  ///< the rank
  template <class A>
  void fields(A& a) {
    a(id), a(space), a(of);
  }
  bool operator==(const PmixModexAsk&) const = default;
};

/// The answer to PmixWant, PmixNames and SpawnAsk, whose number is `id`.
struct PmixAnswer {
  static constexpr std::uint8_t kType = 23;
  std::uint32_t id = 0;
  std::int32_t status = 0;            ///< PMIx's
  std::string data;                   ///< of PmixWant; of SpawnAsk: PMIx's name of the new world
  std::vector<std::string> found;     ///< of a lookup: space, key, value, …
  std::vector<std::uint32_t> owners;  ///< of each of them, the rank
  template <class A>
  void fields(A& a) {
    a(id), a(status), a(data), a(found), a(owners);
  }
  bool operator==(const PmixAnswer&) const = default;
};

/// The answer to PmixProgramAsk: where dlaunch-pmix is on this machine, or its bytes, in pieces.
struct PmixProgram {
  static constexpr std::uint8_t kType = 24;
  std::string path;  ///< empty: the bytes come
  std::string bytes;
  bool last = true;
  std::string why;  ///< there is none; empty: there is
  template <class A>
  void fields(A& a) {
    a(path), a(bytes), a(last), a(why);
  }
  bool operator==(const PmixProgram&) const = default;
};

/// From the agent to dlaunch-pmix alone, first: the job, and where it may keep files. Two descriptors come with it: the
/// listening socket that clients know, and the page that says which rank is in MPI (pmix/states.h).
struct PmixStart {
  static constexpr std::uint8_t kType = 25;
  std::string space;       ///< PMIx's name of the job
  std::uint32_t node = 0;  ///< this host's place among the job's
  std::string host;        ///< its name
  std::string directory;
  bool crowded = false;  ///< more ranks than CPUs
  template <class A>
  void fields(A& a) {
    a(space), a(node), a(host), a(directory), a(crowded);
  }
  bool operator==(const PmixStart&) const = default;
};

/// A world as PMIx tells it to ranks of any: to hosts that asked for dlaunch-pmix, each world once, in their order.
struct PmixWorld {
  static constexpr std::uint8_t kType = 26;
  std::string space;                      ///< PMIx's name of it
  std::uint32_t first = 0;                ///< number of its rank 0, as Spawn has it; the others follow
  std::uint32_t universe = 0;             ///< slots of the job
  std::vector<std::string> hosts;         ///< names of the job's hosts, from where the worlds before it left off
  std::vector<std::uint32_t> placed;      ///< host, number of ranks, …: where its ranks run, in their order
  std::vector<std::uint32_t> of_program;  ///< how many ranks each program has
  std::string parent;                     ///< the world of the rank that spawned it; empty: it is the job's first
  std::uint32_t parent_rank = 0;          ///< that rank, in its world
  template <class A>
  void fields(A& a) {
    a(space), a(first), a(universe), a(hosts), a(placed), a(of_program), a(parent), a(parent_rank);
  }
  bool operator==(const PmixWorld&) const = default;
};

// ---- both ways ----

struct Ping {
  static constexpr std::uint8_t kType = 16;
  static constexpr std::uint32_t kMost = kMostNumbers;
  template <class A>
  void fields(A&) {}
  bool operator==(const Ping&) const = default;
};

/// `stream` 0 stdin (agent to launcher), 1 stdout, 2 stderr (launcher to agent): that many more bytes may come.
struct Credit {
  static constexpr std::uint8_t kType = 17;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t rank = 0;
  std::uint8_t stream = 0;
  std::uint32_t bytes = 0;
  template <class A>
  void fields(A& a) {
    a(rank), a(stream), a(bytes);
  }
  bool operator==(const Credit&) const = default;
};

/// What a rank tells others through PMIx's events: to all hosts that asked for dlaunch-pmix but its own.
struct PmixEvent {
  static constexpr std::uint8_t kType = 27;
  static constexpr std::uint32_t kMost = 1u << 20;
  std::int32_t code = 0;   ///< PMIx's
  std::string space;       ///< the world of the rank that tells it
  std::uint32_t of = 0;    ///< that rank, in its world
  std::uint8_t range = 0;  ///< PMIx's
  std::string infos;       ///< as libpmix packs them
  template <class A>
  void fields(A& a) {
    a(code), a(space), a(of), a(range), a(infos);
  }
  bool operator==(const PmixEvent&) const = default;
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
  std::string identity;      ///< the same for two names of one host, and for no two hosts
  template <class A>
  void fields(A& a) {
    a(version), a(host), a(machine), a(pid), a(time_ns), a(identity);
  }
  bool operator==(const Hello&) const = default;
};

struct Started {
  static constexpr std::uint8_t kType = 33;
  static constexpr std::uint32_t kMost = kMostNumbers + 4 * kMostCpus;
  std::uint32_t rank = 0;
  std::uint32_t pid = 0;
  std::int64_t time_ns = 0;
  std::uint8_t fds = 0;  ///< read ends that came with this frame, in this order: bit 0 stdout's, bit 1 stderr's
  std::vector<std::uint32_t> cpus;  ///< read back, when asked for
  template <class A>
  void fields(A& a) {
    a(rank), a(pid), a(time_ns), a(fds), a(cpus);
  }
  bool operator==(const Started&) const = default;
};

struct NotStarted {
  static constexpr std::uint8_t kType = 34;
  static constexpr std::uint32_t kMost = kMostText;
  std::uint32_t rank = 0;
  std::uint32_t error = 0;  ///< errno; 0 when no system call failed
  std::string what;         ///< the step with its operand
  std::int64_t time_ns = 0;
  template <class A>
  void fields(A& a) {
    a(rank), a(error), a(what), a(time_ns);
  }
  bool operator==(const NotStarted&) const = default;
};

/// Never more than was granted for the stream; at most kMaxOutput bytes. One without bytes is the stream's end.
struct Output {
  static constexpr std::uint8_t kType = 35;
  static constexpr std::uint32_t kMost = kMaxOutput + kMostNumbers;
  std::uint32_t rank = 0;
  std::uint8_t stream = 1;  ///< 1 stdout, 2 stderr
  std::int64_t time_ns = 0;
  std::string bytes;
  template <class A>
  void fields(A& a) {
    a(rank), a(stream), a(time_ns), a(bytes);
  }
  bool operator==(const Output&) const = default;
};

/// As soon as the rank is reaped: its streams may still bring what it wrote, and end by themselves.
struct Ended {
  static constexpr std::uint8_t kType = 36;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t rank = 0;
  std::uint32_t wait_status = 0;
  bool out_of_memory = false;
  std::int64_t time_ns = 0;
  bool in_mpi = false;  ///< after MPI_Init, without MPI_Finalize
  template <class A>
  void fields(A& a) {
    a(rank), a(wait_status), a(out_of_memory), a(time_ns), a(in_mpi);
  }
  bool operator==(const Ended&) const = default;
};

/// The rank closed its stdin; send it no more.
struct StdinClosed {
  static constexpr std::uint8_t kType = 37;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t rank = 0;
  template <class A>
  void fields(A& a) {
    a(rank);
  }
  bool operator==(const StdinClosed&) const = default;
};

/// Something a person reads with -v, or an agent's last word before it gives up.
struct Log {
  static constexpr std::uint8_t kType = 38;
  static constexpr std::uint32_t kMost = kMostText;
  static constexpr std::uint8_t kDetail = 0;
  static constexpr std::uint8_t kInformation = 1;
  static constexpr std::uint8_t kWarning = 2;  ///< a person sees it without -v, too
  static constexpr std::uint8_t kError = 3;
  std::uint8_t level = kDetail;
  std::string text;
  template <class A>
  void fields(A& a) {
    a(level), a(text);
  }
  bool operator==(const Log&) const = default;
};

/// Last frame: what of the job is left on the host, which is nothing unless `left` says so.
struct Clean {
  static constexpr std::uint8_t kType = 39;
  static constexpr std::uint32_t kMost = kMostText;
  std::vector<std::string> left;  ///< "pid 123 (python3), unkillable", …
  template <class A>
  void fields(A& a) {
    a(left);
  }
  bool operator==(const Clean&) const = default;
};

/// The answer to Survey. What the lists of Survey name stands here in the same places.
struct Facts {
  static constexpr std::uint8_t kType = 40;
  static constexpr std::uint32_t kMost = 4u << 20;
  std::int64_t time_ns = 0;  ///< CLOCK_REALTIME when it began to look
  std::string version;       ///< the agent's own
  std::uint32_t cpus = 0;    ///< of the affinity mask, less what a cgroup's quota takes
  std::string cpus_from;     ///< "affinity mask", "cgroup cpu.max", …
  std::uint8_t device_kind = 0;
  std::vector<std::uint32_t> devices;
  std::string devices_from;
  std::int64_t shm_free = -1;                ///< bytes in /dev/shm; -1: there is none
  std::int64_t open_files = -1;              ///< the limit that ranks get; -1: none
  std::vector<std::uint32_t> wdir_errors;    ///< errno of entering it; 0: it is there
  std::vector<std::string> programs;         ///< where it is; empty: `missing` says more
  std::vector<std::string> missing;          ///< "cannot find train in PATH: No such file or directory"; empty: found
  std::vector<std::string> addresses;        ///< with blanks between; empty: the name does not resolve
  std::string unresolved;                    ///< why some names could not be looked up; empty: all were
  std::vector<std::string> interfaces;       ///< its own addresses, not loopback: "eth0 10.0.0.1"
  std::vector<std::string> scripts;          ///< where it is; empty: it cannot be read
  std::vector<std::uint32_t> script_errors;  ///< errno of reading it; 0: it is there
  template <class A>
  void fields(A& a) {
    a(time_ns), a(version), a(cpus), a(cpus_from), a(device_kind), a(devices), a(devices_from), a(shm_free),
        a(open_files), a(wdir_errors), a(programs), a(missing), a(addresses), a(unresolved), a(interfaces), a(scripts),
        a(script_errors);
  }
  bool operator==(const Facts&) const = default;
};

/// The answer to Inquire, a place for each command.
struct Told {
  static constexpr std::uint8_t kType = 41;
  static constexpr std::uint32_t kMost = 4u << 20;
  std::vector<std::string> printed;  ///< on stdout and stderr
  std::vector<std::uint32_t> codes;  ///< as a shell gives it; 127: there is no such program; 124: it took too long
  template <class A>
  void fields(A& a) {
    a(printed), a(codes);
  }
  bool operator==(const Told&) const = default;
};

/// Every rank that this host has of this world waits in a fence; answered by Shared. One at a time for each world.
struct Fence {
  static constexpr std::uint8_t kType = 42;
  static constexpr std::uint32_t kMost = kMostShared + (1u << 20);
  std::uint32_t world = 1;
  std::vector<std::string> pairs;   ///< put here since the last one: key, value, key, value, …
  std::vector<std::uint32_t> gone;  ///< ranks of this host that can never come to a fence
  template <class A>
  void fields(A& a) {
    a(world), a(pairs), a(gone);
  }
  bool operator==(const Fence&) const = default;
};

/// A rank publishes a name, looks one up, or takes it back. Answered by NameAnswer.
struct NameAsk {
  static constexpr std::uint8_t kType = 43;
  static constexpr std::uint32_t kMost = kMostNames;
  std::uint32_t rank = 0;
  std::uint8_t what = 0;  ///< 0 publish, 1 look up, 2 unpublish
  std::string service;
  std::string port;  ///< with publish
  template <class A>
  void fields(A& a) {
    a(rank), a(what), a(service), a(port);
  }
  bool operator==(const NameAsk&) const = default;
};

/// A rank wants another world of ranks. A place in each list for each program.
struct SpawnAsk {
  static constexpr std::uint8_t kType = 47;
  static constexpr std::uint32_t kMost = 4u << 20;
  std::uint32_t rank = 0;
  bool pmix = false;     ///< answered by PmixAnswer; else by SpawnAnswer, and the rank waits for it
  std::uint32_t id = 0;  ///< with `pmix`: the answer's
  std::vector<std::uint32_t> ranks;
  std::vector<std::uint32_t> words;  ///< so many of `argv`
  std::vector<std::uint32_t> set;    ///< so many of `env`
  std::vector<std::uint32_t> named;  ///< so many of `hosts`
  std::vector<std::string> wdirs;    ///< empty: not said
  std::vector<std::string> argv;     ///< of all programs, one after the other; so are the next two
  std::vector<std::string> env;      ///< NAME=VALUE
  std::vector<std::string> hosts;    ///< the only ones that the program may run on; none: all
  std::vector<std::string> pairs;    ///< in the new world's key-value space from the start: key, value, …
  template <class A>
  void fields(A& a) {
    a(rank), a(pmix), a(id), a(ranks), a(words), a(set), a(named), a(wdirs), a(argv), a(env), a(hosts), a(pairs);
  }
  bool operator==(const SpawnAsk&) const = default;
};

/// The rank called MPI_Abort. Its Ended still comes.
struct Aborted {
  static constexpr std::uint8_t kType = 46;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t rank = 0;
  std::uint32_t code = 0;  ///< 0 to 255
  std::int64_t time_ns = 0;
  template <class A>
  void fields(A& a) {
    a(rank), a(code), a(time_ns);
  }
  bool operator==(const Aborted&) const = default;
};

/// The answer to Prepare, and to the last Stage where files follow it.
struct Prepared {
  static constexpr std::uint8_t kType = 44;
  static constexpr std::uint32_t kMost = kMostText;
  std::string why;   ///< what could not be done; empty: all is there
  std::string hint;  ///< the one thing to do; may be empty
  template <class A>
  void fields(A& a) {
    a(why), a(hint);
  }
  bool operator==(const Prepared&) const = default;
};

/// So many more bytes of Stage may come.
struct StageCredit {
  static constexpr std::uint8_t kType = 45;
  static constexpr std::uint32_t kMost = kMostNumbers;
  std::uint32_t bytes = 0;
  template <class A>
  void fields(A& a) {
    a(bytes);
  }
  bool operator==(const StageCredit&) const = default;
};

/// This host's part of a collective of PMIx: all its ranks among the members are there. Answered by PmixShared.
struct PmixCollect {
  static constexpr std::uint8_t kType = 50;
  static constexpr std::uint32_t kMost = kMostShared + (2u << 20);
  std::uint8_t kind = 0;  ///< 0 fence, 1 connect, 2 disconnect, 3 construct a group, 4 take it apart
  std::string members;    ///< pmix/members.h
  std::string data;       ///< with a fence
  template <class A>
  void fields(A& a) {
    a(kind), a(members), a(data);
  }
  bool operator==(const PmixCollect&) const = default;
};

/// A rank here wants what a rank elsewhere has for others. Answered by PmixAnswer.
struct PmixWant {
  static constexpr std::uint8_t kType = 51;
  static constexpr std::uint32_t kMost = kMostNames;
  std::uint32_t id = 0;
  std::string space;
  std::uint32_t of = 0;  ///< the rank that has it
  template <class A>
  void fields(A& a) {
    a(id), a(space), a(of);
  }
  bool operator==(const PmixWant&) const = default;
};

/// The answer to PmixModexAsk.
struct PmixModex {
  static constexpr std::uint8_t kType = 52;
  static constexpr std::uint32_t kMost = kMostShared + kMostNumbers;
  std::uint32_t id = 0;
  std::int32_t status = 0;  ///< PMIx's
  std::string data;
  template <class A>
  void fields(A& a) {
    a(id), a(status), a(data);
  }
  bool operator==(const PmixModex&) const = default;
};

/// A rank publishes, looks up or takes back. Answered by PmixAnswer.
struct PmixNames {
  static constexpr std::uint8_t kType = 53;
  static constexpr std::uint32_t kMost = kMostShared;
  std::uint32_t rank = 0;
  std::uint32_t id = 0;
  std::uint8_t what = 0;            ///< 0 publish, 1 look up, 2 unpublish
  std::vector<std::string> keys;    ///< unpublish without any: all that the rank published
  std::vector<std::string> values;  ///< with publish: of each key
  bool once = false;                ///< with publish: the first to read it takes it away
  bool wait = false;                ///< with lookup: until all are there
  template <class A>
  void fields(A& a) {
    a(rank), a(id), a(what), a(keys), a(values), a(once), a(wait);
  }
  bool operator==(const PmixNames&) const = default;
};

/// The agent needs dlaunch-pmix. Answered by PmixProgram.
struct PmixProgramAsk {
  static constexpr std::uint8_t kType = 54;
  static constexpr std::uint32_t kMost = kMostNames;
  std::string machine;  ///< uname's
  template <class A>
  void fields(A& a) {
    a(machine);
  }
  bool operator==(const PmixProgramAsk&) const = default;
};

/// There is no PMIx on this host (any more), and its ranks cannot do without.
struct PmixFailed {
  static constexpr std::uint8_t kType = 55;
  static constexpr std::uint32_t kMost = kMostText;
  std::string why;
  std::string hint;
  template <class A>
  void fields(A& a) {
    a(why), a(hint);
  }
  bool operator==(const PmixFailed&) const = default;
};

using Message =
    std::variant<Setup, Program, Spawn, Stdin, Signal, WindowSize, Pause, Finish, Sweep, Layout, Survey, File, Inquire,
                 Prepare, Stage, Ping, Credit, Hello, Started, NotStarted, Output, Ended, StdinClosed, Log, Clean,
                 Facts, Told, Prepared, StageCredit, MpiWorld, Shared, NameAnswer, SpawnAnswer, Fence, NameAsk,
                 SpawnAsk, Aborted, PmixShared, PmixModexAsk, PmixAnswer, PmixProgram, PmixStart, PmixWorld, PmixEvent,
                 PmixCollect, PmixWant, PmixModex, PmixNames, PmixProgramAsk, PmixFailed>;

}  // namespace dlaunch::wire
