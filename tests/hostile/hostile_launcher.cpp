// A hostile launcher: hostile_launcher AGENT ACT starts AGENT and performs the action ACT. Exits with 0 if the agent
// and its ranks have ended by themselves in time, and prints the agent's exit code and its peak memory.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "peer.h"

namespace dlaunch::hostile {
namespace {

using std::string;
constexpr std::uint32_t kHuge = 4'000'000'000;
constexpr size_t kMebi = 1u << 20;
constexpr unsigned kPatience = 50;  // seconds; an agent waits 15 s for the first message

void setup(Peer& link, std::uint32_t heartbeat_ms = 300) {
  wire::Setup setup;
  setup.job_id = "hostile";
  setup.heartbeat_ms = heartbeat_ms;
  setup.grace_ms = 100;
  link.send(setup);
  link.expect<wire::Hello>();
  wire::Layout layout;
  layout.credit = 1u << 20;
  layout.local_ranks = 1;
  link.send(layout);
}

/// Starts a rank that would never end.
void begin(Peer& link, std::uint32_t heartbeat_ms = 300, const char* script = "exec sleep 1000") {
  setup(link, heartbeat_ms);
  link.send(wire::Program{1, {"sh", "-c", script}, {"PATH=/usr/bin:/bin"}, "/"});
  wire::Spawn spawn;
  spawn.app = 1;
  spawn.in = wire::StreamMode::pipe;
  link.send(spawn);
  link.expect<wire::Started>();
}

using Act = std::function<void(Peer&)>;

const std::map<string, Act>& acts() {
  static const std::map<string, Act> all = {
      {"silence_at_once", [](Peer& l) { l.until_gone(); }},
      {"silence_after_setup", [](Peer& l) { setup(l), l.until_gone(); }},
      {"silence_while_a_rank_runs", [](Peer& l) { begin(l), l.until_gone(); }},
      {"pings_without_answers",
       [](Peer& l) {
         begin(l);
         for (;;) {  // until the agent closes its link
           l.send(wire::Ping{1, 0});
           l.drain();
           ::usleep(50'000);
         }
       }},
      {"silence_in_a_frame", [](Peer& l) { begin(l), l.send_raw(1000, 4, "half"), l.until_gone(); }},
      {"closes_at_once", [](Peer&) {}},
      {"closes_in_a_frame", [](Peer& l) { begin(l), l.send_raw(1000, 4, "half"); }},
      {"garbage", [](Peer& l) { l.send_bytes("GET / HTTP/1.1\r\n\r\n"), l.until_gone(); }},
      {"garbage_while_a_rank_runs", [](Peer& l) { begin(l), l.send_bytes(string(4096, '\xff')), l.until_gone(); }},
      {"length_4e9", [](Peer& l) { begin(l), l.send_raw(kHuge, 4, "x"), l.until_gone(); }},
      {"ping_of_16_mib",
       [](Peer& l) { begin(l), l.send_raw(16 * kMebi, 16, string(15 * kMebi, 'x')), l.until_gone(); }},
      {"stdin_of_16_mib",
       [](Peer& l) { begin(l, 60000), l.send(wire::Stdin{0, string(15 * kMebi, 'x'), false}), l.until_gone(); }},
      {"count_of_4e9", [](Peer& l) { begin(l), l.send_raw(2, string(4, '\0') + "\xff\xff\xff\xff"), l.until_gone(); }},
      {"frame_of_the_agent", [](Peer& l) { begin(l, 60000), l.send(wire::Hello{}), l.until_gone(); }},
      {"setup_twice", [](Peer& l) { begin(l, 60000), l.send(wire::Setup{}), l.until_gone(); }},
      {"unknown_version", [](Peer& l) { l.send(wire::Setup{99, "hostile", 60000, 100, false}), l.until_gone(); }},
      {"heartbeat_0", [](Peer& l) { begin(l, 0), l.until_gone(); }},
      {"over_credit_of_stdin",
       [](Peer& l) {
         begin(l, 60000);
         for (int i = 0; i < 1000; ++i) l.send(wire::Stdin{0, string(wire::kMaxOutput, 'x'), false});
         l.until_gone();
       }},
      {"over_credit_of_files",
       [](Peer& l) {
         setup(l, 60000);
         l.send(wire::Prepare{{"/proc/nonexistent/dir"}, {"/"}, {}, true});
         for (int i = 0; i < 1000; ++i) l.send(wire::Stage{string(wire::kMaxOutput, 'x'), false});
       }},
      {"endless_credit",
       [](Peer& l) {
         begin(l, 60000, "exec cat /dev/zero");
         for (int i = 0; i < 1000; ++i) l.send(wire::Credit{0, 1, 0xffffffff});
         ::sleep(2);  // the memory of the agent would grow in this time
       }},
      {"ranks_without_a_program",
       [](Peer& l) {
         begin(l, 60000);
         for (std::uint32_t rank = 1; rank < 20000; ++rank) {
           wire::Spawn spawn;
           spawn.rank = rank;
           spawn.app = kHuge;
           l.send(spawn);
           l.drain();
         }
       }},
      {"unrequested_mpi",
       [](Peer& l) {
         begin(l, 60000);
         l.send(wire::FenceOut{kHuge, {"k", "v"}, true, false});
         l.send(wire::NameAnswer{0, true, string(kMebi, 'x')});
         l.send(wire::SpawnAnswer{kHuge, true, 2, "s"});
         l.send(wire::PmixShared{0, "members", string(kMebi, 'x'), true, 0});
         l.send(wire::PmixProgram{"/bin/false", {}, true, {}});
         l.send(wire::PmixModexAsk{1, "s", 0});
         l.send(wire::PmixStart{});
         l.send(wire::MpiWorld{});
       }},
  };
  return all;
}

pid_t start(const char* agent, int link) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::dup2(link, 0);
  ::dup2(link, 1);
  ::execl(agent, agent, nullptr);
  ::_exit(127);
}

}  // namespace
}  // namespace dlaunch::hostile

int main(int argc, char** argv) {
  using namespace dlaunch::hostile;
  std::signal(SIGPIPE, SIG_IGN);
  const auto act = argc == 3 ? acts().find(argv[2]) : acts().end();
  if (act == acts().end()) {
    for (const auto& [name, does] : acts()) std::printf("%s\n", name.c_str());
    return 2;
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 2;
  const pid_t agent = start(argv[1], ends[1]);
  ::close(ends[1]);
  ::alarm(kPatience);  // SIGALRM ends this process when the agent hangs
  try {
    Peer link(ends[0], ends[0]);
    act->second(link);
  } catch (const Peer::Gone&) {
  }
  ::close(ends[0]);
  int status = 0;
  rusage used{};
  if (::wait4(agent, &status, 0, &used) != agent) return 2;
  std::printf("status %d, at most %ld KiB\n", status, used.ru_maxrss);
  return WIFEXITED(status) ? 0 : 1;
}
