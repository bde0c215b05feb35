// A hostile agent. `dlaunch --exec` starts it in place of a real agent (`agent=` in a host file), and the variable
// HOSTILE names its violation of docs/wire.md. It ends when the launcher has closed the link.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "agent/dial_in.h"
#include "peer.h"
#include "wire/mpi.h"

namespace dlaunch::hostile {
namespace {

using std::string;
constexpr std::uint32_t kHuge = 4'000'000'000;
constexpr size_t kMebi = 1u << 20;
constexpr std::uint8_t kStreams[] = {1, 2};
constexpr std::uint8_t kLevels[] = {0, 1, 2, 3};

string u32(std::uint32_t value) {
  string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

/// Text that must never reach a terminal: a title, a cleared screen, a line that imitates a line of dlaunch.
const string kEscapes =
    "\x1b]0;owned\x07\x1b[2J\ndlaunch: forged \x1b[31m\r\x9b"
    "1m\xff";

void hello(Peer& link) {
  link.expect<wire::Setup>();
  link.send(wire::Hello{wire::kVersion, "evil", "x86_64", 1, 5, {}});
}

/// Continues until its rank has started. Returns the rank's number.
std::uint32_t begin(Peer& link) {
  hello(link);
  const std::uint32_t rank = link.expect<wire::Spawn>().rank;
  link.send(wire::Started{rank, 4242, 10, 0, {}});
  return rank;
}

/// Like begin, and requests dlaunch-pmix. Returns the rank, and PMIx's name of the job.
std::pair<std::uint32_t, string> begin_pmix(Peer& link) {
  hello(link);
  const string space = link.expect<wire::MpiWorld>().pmix_space;
  const std::uint32_t rank = link.expect<wire::Spawn>().rank;
  link.send(wire::Started{rank, 4242, 10, 0, {}});
  link.send(wire::PmixProgramAsk{"no such machine"});
  return {rank, space};
}

/// Ends the rank on the signal of the launcher.
void end_well(Peer& link, std::uint32_t rank) {
  link.expect<wire::Signal>();
  for (const std::uint8_t stream : kStreams) link.send(wire::OutputData{rank, stream, 1, {}});
  link.send(wire::Ended{rank, 15, false, 20});
  link.expect<wire::Finish>();
  link.send(wire::Clean{});
  link.until_gone();
}

/// Breaks the link at the end, so that the launcher loses the host and reports the loss.
[[noreturn]] void finale(Peer& link) {
  link.send_raw(254, "the finale");
  link.until_gone();
}

wire::SpawnAsk spawn(std::uint32_t rank, std::uint32_t ranks, string host) {
  const char* target = std::getenv("HOSTILE_TARGET");
  wire::SpawnAsk ask;
  ask.rank = rank;
  SpawnProgram program{.argv = {"touch", target ? target : "/nonexistent/x"}, .ranks = ranks};
  if (!host.empty()) program.hosts = {std::move(host)};
  wire::add(ask, std::move(program));
  return ask;
}

/// Sends a request, and continues whatever the answer is.
void ask_and_hear(Peer& link, const wire::Message& question) {
  link.send(question);
  link.drain();
}

void flood_output(Peer& link, size_t piece, size_t all) {
  const std::uint32_t rank = begin(link);
  string frames;
  for (size_t sent = 0; sent < all; sent += piece) {
    wire::encode(wire::OutputData{rank, 1, static_cast<std::int64_t>(sent), string(piece, 'x')}, frames);
    if (frames.size() < kMebi / 4) continue;
    link.send_bytes(frames);
    frames.clear();
    link.drain();
  }
  link.send_bytes(frames);
  finale(link);
}

void query(Peer& link, const std::function<void(wire::HostInfo&)>& lie) {
  hello(link);
  link.expect<wire::QueryHost>();
  wire::HostInfo facts;
  facts.time_ns = 10;
  facts.cpus = 2;
  lie(facts);
  link.send(facts);
  link.until_gone();
}

using Act = std::function<void(Peer&)>;

const std::map<string, Act>& acts() {
  static const std::map<string, Act> all = {
      // ---- bytes that are not frames ----
      {"garbage_before_hello", [](Peer& l) { l.send_bytes("Welcome to evil!\nLast login: never\n"), l.until_gone(); }},
      {"garbage_after_hello", [](Peer& l) { hello(l), l.send_bytes(string(4096, '\xff')), l.until_gone(); }},
      {"length_0", [](Peer& l) { hello(l), l.send_bytes(u32(0)), l.until_gone(); }},
      {"length_4e9", [](Peer& l) { hello(l), l.send_raw(kHuge, 38, "x"), l.until_gone(); }},
      {"log_of_16_mib", [](Peer& l) { hello(l), l.send_raw(16 * kMebi, 38, string(15 * kMebi, 'x')), l.until_gone(); }},
      {"ping_of_16_mib",
       [](Peer& l) { hello(l), l.send_raw(16 * kMebi, 16, string(15 * kMebi, 'x')), l.until_gone(); }},
      {"unknown_type", [](Peer& l) { hello(l), l.send_raw(200, "what"), l.until_gone(); }},
      {"count_of_4e9", [](Peer& l) { begin(l), l.send_raw(42, u32(1) + u32(kHuge)), l.until_gone(); }},
      {"list_of_empty_items",
       [](Peer& l) { begin(l), l.send_raw(42, u32(1) + u32(1000000) + string(4000000, '\0')), l.until_gone(); }},
      {"incomplete_frame", [](Peer& l) { begin(l), l.send_raw(1000, 38, "half"); }},
      {"frame_of_the_launcher", [](Peer& l) { begin(l), l.send(wire::Spawn{}), l.until_gone(); }},
      // ---- silence ----
      {"silent_at_once", [](Peer& l) { l.until_gone(); }},
      {"silent_after_hello", [](Peer& l) { hello(l), l.until_gone(); }},
      {"silent_before_started", [](Peer& l) { hello(l), l.expect<wire::Spawn>(), l.until_gone(); }},
      {"silent_after_started", [](Peer& l) { begin(l), l.until_gone(); }},
      {"silent_in_a_frame", [](Peer& l) { begin(l), l.send_raw(1000, 38, "half"), l.until_gone(); }},
      {"silent_to_finish",
       [](Peer& l) {
         const std::uint32_t rank = begin(l);
         for (const std::uint8_t stream : kStreams) l.send(wire::OutputData{rank, stream, 1, {}});
         l.send(wire::Ended{rank, 0, false, 20});
         l.until_gone();
       }},
      // ---- order ----
      {"unknown_version",
       [](Peer& l) { l.expect<wire::Setup>(), l.send(wire::Hello{99, "evil", "x", 1, 5, {}}), l.until_gone(); }},
      {"hello_twice", [](Peer& l) { hello(l), l.send(wire::Hello{}), l.until_gone(); }},
      {"started_before_hello", [](Peer& l) { l.send(wire::Started{}), l.until_gone(); }},
      {"unrequested_started", [](Peer& l) { begin(l), l.send(wire::Started{0, 1, 1, 0, {}}), l.until_gone(); }},
      {"started_of_another_host", [](Peer& l) { begin(l), l.send(wire::Started{1, 1, 1, 0, {}}), l.until_gone(); }},
      {"ended_of_an_unknown_rank", [](Peer& l) { begin(l), l.send(wire::Ended{kHuge, 0, false, 1}), l.until_gone(); }},
      {"unrequested_clean", [](Peer& l) { begin(l), l.send(wire::Clean{}), l.until_gone(); }},
      {"unrequested_host_info", [](Peer& l) { begin(l), l.send(wire::HostInfo{}), finale(l); }},
      {"unrequested_prepared", [](Peer& l) { begin(l), l.send(wire::Prepared{}), l.until_gone(); }},
      {"unrequested_stage_credit", [](Peer& l) { begin(l), l.send(wire::StageCredit{kHuge}), l.until_gone(); }},
      {"unknown_stream", [](Peer& l) { l.send(wire::OutputData{begin(l), 9, 1, "x"}), l.until_gone(); }},
      {"descriptors_over_exec",
       [](Peer& l) { hello(l), l.send(wire::Started{l.expect<wire::Spawn>().rank, 1, 1, 3, {}}), l.until_gone(); }},
      {"invalid_times",
       [](Peer& l) {
         const std::uint32_t rank = begin(l);
         l.send(wire::OutputData{rank, 1, std::numeric_limits<std::int64_t>::min(), "x\n"});
         l.send(wire::OutputData{rank, 1, std::numeric_limits<std::int64_t>::max(), "y\n"});
         for (const std::uint8_t stream : kStreams) l.send(wire::OutputData{rank, stream, 1, {}});
         l.send(wire::Ended{rank, 0x7f, true, std::numeric_limits<std::int64_t>::min(), true});
         finale(l);
       }},
      // ---- credit ----
      {"over_credit", [](Peer& l) { flood_output(l, wire::kMaxOutput, 200 * kMebi); }},
      {"output_of_single_bytes", [](Peer& l) { flood_output(l, 1, kMebi); }},
      {"output_after_its_end",
       [](Peer& l) {
         const std::uint32_t rank = begin(l);
         l.send(wire::OutputData{rank, 1, 1, string(wire::kMaxOutput, 'x')});
         for (int i = 0; i < 100000; ++i) l.send(wire::OutputData{rank, 2, 1, {}});
         finale(l);
       }},
      {"stdin_credit", [](Peer& l) { l.send(wire::Credit{begin(l), 0, kHuge}), l.until_gone(); }},
      {"output_credit", [](Peer& l) { l.send(wire::Credit{begin(l), 1, kHuge}), l.until_gone(); }},
      // ---- what it says about its host ----
      {"cpus_4e9", [](Peer& l) { query(l, [](wire::HostInfo& f) { f.cpus = kHuge; }); }},
      {"million_devices",
       [](Peer& l) { query(l, [](wire::HostInfo& f) { f.device_kind = 1, f.devices.resize(1000000); }); }},
      {"unrequested_addresses", [](Peer& l) { query(l, [](wire::HostInfo& f) { f.addresses.resize(100000); }); }},
      {"endless_logs",
       [](Peer& l) {
         begin(l);
         for (int i = 0; i < 100000; ++i) l.send(wire::Log{wire::Log::kWarning, "line " + std::to_string(i)});
         finale(l);
       }},
      {"escapes",
       [](Peer& l) {
         l.expect<wire::Setup>();
         l.send(wire::Hello{wire::kVersion, kEscapes, kEscapes, 1, 5, kEscapes});
         const std::uint32_t rank = l.expect<wire::Spawn>().rank;
         for (const std::uint8_t level : kLevels) l.send(wire::Log{level, kEscapes});
         l.send(wire::SpawnFailed{rank, 2, kEscapes, 1});
         l.expect<wire::Finish>();
         l.send(wire::Clean{{kEscapes}});
         l.until_gone();
       }},
      {"escapes_in_a_failure",
       [](Peer& l) {
         hello(l), l.expect<wire::Spawn>(), l.send(wire::PmixFailed{kEscapes, kEscapes}), l.until_gone();
       }},
      // ---- spawns ----
      {"spawn", [](Peer& l) { l.send(spawn(begin(l), 1, "")), l.until_gone(); }},
      {"spawn_on_the_launcher_host", [](Peer& l) { ask_and_hear(l, spawn(begin(l), 1, "localhost")), finale(l); }},
      {"spawn_by_an_unknown_rank", [](Peer& l) { begin(l), l.send(spawn(kHuge, 1, "")), l.until_gone(); }},
      {"spawn_of_4e9", [](Peer& l) { ask_and_hear(l, spawn(begin(l), kHuge, "")), finale(l); }},
      {"spawn_of_4e9_words",
       [](Peer& l) {
         wire::SpawnAsk ask = spawn(begin(l), 1, "");
         ask.words = {kHuge};
         l.send(ask);
         l.until_gone();
       }},
      {"spawn_of_long_words",
       [](Peer& l) {
         wire::SpawnAsk ask = spawn(begin(l), 1, "");
         ask.argv[1] = string(2 * kMebi, 'x');
         for (int i = 0; i < 50; ++i) ask_and_hear(l, ask);
         finale(l);
       }},
      // ---- MPI ----
      {"abort", [](Peer& l) { l.send(wire::MpiAbort{begin(l), 1, 1}), l.until_gone(); }},
      {"fence", [](Peer& l) { begin(l), l.send(wire::FenceIn{}), l.until_gone(); }},
      {"fence_of_9_mib",
       [](Peer& l) {
         begin(l), l.send(wire::FenceIn{1, {"k", string(8 * kMebi + kMebi / 2, 'x')}, {}}), l.until_gone();
       }},
      {"fence_twice", [](Peer& l) { begin(l), l.send(wire::FenceIn{}), l.send(wire::FenceIn{}), l.until_gone(); }},
      {"fence_of_an_unknown_world", [](Peer& l) { begin(l), l.send(wire::FenceIn{kHuge, {}, {}}), l.until_gone(); }},
      {"fence_for_ranks_of_another_host", [](Peer& l) { begin(l), l.send(wire::FenceIn{1, {}, {1}}), l.until_gone(); }},
      {"names",
       [](Peer& l) {
         const std::uint32_t rank = begin(l);
         for (int i = 0; i < 30000; ++i) ask_and_hear(l, wire::NameAsk{rank, 0, std::to_string(i), string(1000, 'x')});
         finale(l);
       }},
      {"name_of_4_kib", [](Peer& l) { l.send(wire::NameAsk{begin(l), 0, "s", string(4096, 'x')}), l.until_gone(); }},
      {"requests_without_reading",
       [](Peer& l) {
         const std::uint32_t rank = begin(l);
         l.send(wire::NameAsk{rank, 0, "s", string(1000, 'x')});
         for (int i = 0; i < 100000; ++i) l.send(wire::NameAsk{rank, 1, "s", {}});
         l.deaf_until_gone();
       }},
      {"unrequested_pmix", [](Peer& l) { begin(l), l.send(wire::PmixWant{1, "s", 0}), l.until_gone(); }},
      {"pmix_program_twice", [](Peer& l) { begin_pmix(l), l.send(wire::PmixProgramAsk{"x"}), l.until_gone(); }},
      {"board",
       [](Peer& l) {
         const auto [rank, space] = begin_pmix(l);
         for (std::uint32_t i = 0; i < 60; ++i) {
           ask_and_hear(l, wire::PmixNames{rank, i, 0, {std::to_string(i)}, {string(kMebi, 'x')}, false, false});
         }
         std::vector<string> keys;
         for (int i = 0; i < 60; ++i) keys.push_back(std::to_string(i));
         for (std::uint32_t i = 0; i < 60; ++i) ask_and_hear(l, wire::PmixNames{rank, i, 1, keys, {}, false, false});
         finale(l);
       }},
      {"collectives",
       [](Peer& l) {
         const auto [rank, space] = begin_pmix(l);
         for (int i = 0; i < 40; ++i) {
           ask_and_hear(l, wire::PmixCollect{0, '#' + std::to_string(i) + ' ' + space + ":*", string(kMebi, 'x')});
         }
         finale(l);
       }},
      {"unrequested_modex",
       [](Peer& l) { begin_pmix(l), l.send(wire::PmixModex{1, 0, string(kMebi, 'x')}), finale(l); }},
      {"event_of_another_host",
       [](Peer& l) {
         const auto [rank, space] = begin_pmix(l);
         l.send(wire::PmixEvent{-1, space, 1 - rank, 0, {}});
         l.until_gone();
       }},
      // ---- two agents: one floods the other, which does not read ----
      {"events",
       [](Peer& l) {
         const auto [rank, space] = begin_pmix(l);
         for (int i = 0; i < 400; ++i) ask_and_hear(l, wire::PmixEvent{-1, space, rank, 0, string(kMebi / 8, 'x')});
         end_well(l, rank);
       }},
      {"deaf", [](Peer& l) { begin_pmix(l), l.deaf_until_gone(); }},
  };
  return all;
}

}  // namespace
}  // namespace dlaunch::hostile

/// With `--dial` the agent connects to its launcher, and attacks after its authentication.
int main(int argc, char** argv) {
  using namespace dlaunch::hostile;
  if (argc > 1 && std::string_view(argv[1]) == "--dial") return dlaunch::agent::dial_in_main(argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  const char* host = std::getenv("HOSTILE_HOST");
  const char* name = host && std::string(host) == "deaf" ? "deaf" : std::getenv("HOSTILE");
  const auto act = acts().find(name ? name : "");
  if (act == acts().end()) {
    std::fprintf(stderr, "hostile_agent: unknown action in HOSTILE\n");
    return 2;
  }
  // Each action happens once: if the launcher reaches the lost host again for the cleanup, the agent exits.
  const char* target = std::getenv("HOSTILE_TARGET");
  const std::string met = std::string(target ? target : "") + '.' + name + '.' + (host ? host : "");
  const int fd = target ? ::open(met.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) : -1;
  if (target && fd < 0) return 0;
  if (fd >= 0) ::close(fd);
  Peer link(0, 1);
  try {
    act->second(link);
  } catch (const Peer::Gone&) {
  }
  return 0;
}
