#include "agent/dial_in.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/shared_texts.h"
#include "base/time.h"
#include "base/try.h"
#include "dialback/end_signals.h"
#include "dialback/introduction.h"
#include "dialback/job_key.h"
#include "dialback/node_service.h"
#include "sys/child.h"
#include "sys/descendants.h"
#include "sys/fd.h"
#include "sys/inherited.h"
#include "sys/io.h"
#include "sys/tcp.h"
#include "sys/thread.h"

namespace dlaunch::agent {
namespace {

using dialback::LauncherContact;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kContactLimit{60};  // for the launcher to send its address
constexpr std::chrono::seconds kConnectLimit{3};   // after the limit the launcher may use another transport
constexpr milliseconds kPause{100};                // between attempts to connect
constexpr milliseconds kAgentEnds{5000};           // as for an agent on the launcher's own machine
constexpr milliseconds kOrphanGrace{3000};

tl::unexpected<Error> no_contact(std::string why) {
  return fail({"", "the agent did not receive the launcher's address", std::move(why), ""});
}

Result<LauncherContact> read_contact(const sys::Fd& from, const char* nonce, int ended) {
  dialback::ContactReader reader(nonce);
  const Time deadline = Clock::now() + kContactLimit;
  std::array<char, 64u << 10> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  while (!reader.broken()) {
    if (!dialback::readable(from.get(), ended, deadline))
      return no_contact("timed out after " + std::to_string(kContactLimit.count()) + " s waiting for the launcher");
    const ssize_t got = TEMP_FAILURE_RETRY(::read(from.get(), buffer.data(), buffer.size()));
    if (got <= 0) return no_contact("the launcher closed the connection");
    if (auto contact = reader.feed({buffer.data(), static_cast<size_t>(got)})) return *std::move(contact);
  }
  return no_contact("invalid data from the launcher");
}

/// Tries again if no process listens yet.
Result<sys::Fd> connect_to(const Endpoint& at, dialback::EndSignals& signals) {
  const Time deadline = Clock::now() + kConnectLimit;
  std::vector<sys::SocketAddress> addresses;
  if (const auto address = sys::numeric_address(at.host, at.port)) addresses.push_back(*address);
  for (;;) {
    auto connection = sys::connect_tcp(addresses, deadline, signals.fd());
    if (connection) return std::move(connection->socket);
    const bool may_help = connection.error() == ECONNREFUSED && Clock::now() + kPause < deadline;
    if (may_help) dialback::readable(-1, signals.fd(), Clock::now() + kPause);
    if (!may_help || signals.came()) {
      return fail({"", std::string(dialback::kCannotConnect) + to_string(at), std::strerror(connection.error()), ""});
    }
  }
}

/// The agent of the forwarded link. The agent starts while this process authenticates to the launcher.
class Child {
 public:
  explicit Child(const std::string& nonce) : mark_(agent_mark(nonce)), only_child_(sys::has_no_child()) {
    sys::become_subreaper();
    link_ = start();
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Result<sys::Fd> link(const std::string& job_id) {
    job_mark_ = rank_mark(job_id);
    return std::exchange(link_, sys::Fd());
  }

  /// Forwards every signal: the agent reports only the first signal, and a batch system sends KILL after several.
  bool forward(int signal) const { return pid_ > 0 && ::kill(pid_, signal) == 0; }

  /// After its end, its orphans are children of this process.
  void end() {
    link_ = sys::Fd();
    if (pid_ <= 0) return;
    sys::reap_by(pid_, sys::open_pidfd(pid_), Clock::now() + kAgentEnds);
    const auto others = only_child_ ? sys::OtherSessions::ended : sys::OtherSessions::kept;
    if (!sys::reap_all()) sys::end_descendants_with({mark_, job_mark_}, kOrphanGrace, others);
    pid_ = 0;
  }

 private:
  Result<sys::Fd> start() {
    auto [ours, theirs] = sys::make_socketpair();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::putenv(mark_.data());
      char name[] = "dlaunch-agent";
      char* const argv[] = {name, nullptr};
      if (::dup2(theirs.get(), 0) == 0 && ::dup2(theirs.get(), 1) == 1) ::execv("/proc/self/exe", argv);
      ::_exit(127);
    }
    if (pid_ < 0) return fail({"", "cannot start the agent", std::strerror(errno), ""});
    return std::move(ours);
  }

  std::string mark_;
  std::string job_mark_ = mark_;
  const bool only_child_;  // all orphans come from the agent
  pid_t pid_ = 0;
  Result<sys::Fd> link_ = sys::Fd();
};

/// All agents of one command read the same bytes: an agent that stopped reading would block the others.
void pass_over(const sys::Fd& from) {
  std::array<char, 64u << 10> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  while (TEMP_FAILURE_RETRY(::read(from.get(), buffer.data(), buffer.size())) > 0) {
  }
}

/// Returns the exit code.
Result<int> dial_in(const char* nonce, const std::string& name) {
  dialback::EndSignals signals;
  const auto from = std::make_shared<sys::Fd>(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  const LauncherContact contact = TRY(read_contact(*from, nonce, signals.fd()));
  Child child(nonce);  // before the thread: the child calls putenv(3) after fork()
  sys::Thread reader;
  if (const int error = reader.start([from] { pass_over(*from); }); error != 0) {
    return fail({"", "cannot start a thread", std::strerror(error), ""});
  }
  const auto key = TRY(dialback::job_key(contact.key));
  auto socket = TRY(connect_to(contact.at, signals));
  const dialback::Statement self{.version = "", .nodes = 1, .node = 0, .name = name, .words = {}};
  auto connection = dialback::introduce(std::move(socket), to_string(contact.at), key, self, signals.fd());
  if (!connection) return fail(std::move(connection).error().error);
  const std::string job_id = connection->job_id;
  const dialback::LocalAgent agent{[&] { return child.link(job_id); },
                                   [&](int signal) { return child.forward(signal); }, [&] { child.end(); }};
  return dialback::NodeService(*std::move(connection), agent, signals).run();
}

}  // namespace

int dial_in_main(int argc, char** argv) {
  constexpr int kWords = 4;
  constexpr int kFailed = 1;
  if (argc < kWords) return kFailed;
  ::syscall(SYS_close_range, 3u, ~0u, 0u);
  sys::restore_ending_signals();
  ::signal(SIGPIPE, SIG_IGN);
  dialback::ignore_forwarded();
  auto done = dial_in(argv[2], argv[3]);
  if (done) return *done;
  std::printf("\ndlaunch:%s %s fail %s\n", argv[2], argv[3], what_and_why(done.error()).c_str());
  std::fflush(stdout);
  return kFailed;
}

}  // namespace dlaunch::agent
