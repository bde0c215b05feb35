// Several hosts, each with a real agent on a link without descriptor passing, as for remote hosts.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "agent_process.h"
#include "launcher_fixture.h"
#include "sys/io.h"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;
using agent::program;
using job::Cause;
using testing::IsEmpty;

class Remote : public LauncherFixture {
 protected:
  void three_hosts() {
    for (int host = 0; host < 3; ++host) hosts.real();
  }
};

std::vector<std::string> sorted_lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

TEST_F(Remote, OutputOfAllHostsIsComplete) {
  three_hosts();
  const auto outcome =
      run({"sh", "-c", "i=0; while [ $i -lt 200 ]; do echo $RANK.$i; i=$((i+1)); done; echo e$RANK >&2"}, 2);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.leftovers, IsEmpty());
  std::vector<std::string> expected;
  for (int rank = 0; rank < 6; ++rank) {
    for (int line = 0; line < 200; ++line) expected.push_back(std::to_string(rank) + "." + std::to_string(line));
  }
  std::ranges::sort(expected);
  EXPECT_EQ(sorted_lines(out.text()), expected);
  EXPECT_EQ(sorted_lines(err.text()), (std::vector<std::string>{"e0", "e1", "e2", "e3", "e4", "e5"}));
}

TEST_F(Remote, MuchOutputIsComplete) {
  three_hosts();
  EXPECT_EQ(run({program("spew"), "10000000"}).exit_code, 0);
  EXPECT_EQ(out.text().size(), 30000000u);
}

TEST_F(Remote, FirstFailureEndsTheOtherRanks) {
  three_hosts();
  const auto outcome = run({"sh", "-c", "test $RANK = 2 && exit 7; exec sleep 1000"}, 2);
  EXPECT_EQ(outcome.cause, Cause::rank_failed);
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_EQ(outcome.first_failure, 2);
  EXPECT_THAT(outcome.leftovers, IsEmpty());
  for (const int rank : {0, 1, 3, 4, 5}) {
    const auto& record = outcome.ranks[static_cast<size_t>(rank)];
    ASSERT_TRUE(record.status);
    EXPECT_TRUE(record.ended_by_us);
    EXPECT_EQ(record.status->shell_code(), 128 + SIGTERM);
  }
}

TEST_F(Remote, KillsARankThatIgnoresTerm) {
  three_hosts();
  policy.grace = 300ms;
  std::string directory = testing::TempDir() + "dlaunch-launcher-XXXXXX";
  ASSERT_TRUE(::mkdtemp(directory.data()));
  const std::string fails = "while [ ! -e 1 ] || [ ! -e 2 ]; do sleep 0.02; done; exit 3";
  const auto outcome = run({"sh", "-c",
                            "cd " + directory + "; if [ $RANK = 0 ]; then " + fails +
                                "; fi; trap '' TERM; : >$RANK; exec " + program("ignore_term")});
  std::filesystem::remove_all(directory);
  EXPECT_EQ(outcome.exit_code, 3);
  for (const int rank : {1, 2}) {
    EXPECT_TRUE(outcome.ranks[static_cast<size_t>(rank)].needed_kill);
    EXPECT_EQ(outcome.ranks[static_cast<size_t>(rank)].status->shell_code(), 128 + SIGKILL);
  }
}

TEST_F(Remote, ReportsAMissingProgram) {
  three_hosts();
  const auto outcome = run({"no-such-program"});
  EXPECT_EQ(outcome.exit_code, 127);
  EXPECT_TRUE(std::holds_alternative<NotStarted>(outcome.ranks[0].status->value()));
}

TEST_F(Remote, EndsDaemonsOfAllHosts) {
  three_hosts();
  const auto outcome = run({"sh", "-c", "setsid sleep 1000 & exit 0"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.leftovers, IsEmpty());
}

TEST_F(Remote, InterruptEndsAllRanks) {
  three_hosts();
  after(500, [] { ::kill(::getpid(), SIGINT); });
  const auto outcome = run({program("daemonize")});
  EXPECT_EQ(outcome.cause, Cause::interrupted);
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_THAT(outcome.leftovers, IsEmpty());
}

TEST_F(Remote, MergesStderr) {
  three_hosts();
  settings.output.merge_stderr = true;
  EXPECT_EQ(run({"sh", "-c", "echo $RANK >&2"}).exit_code, 0);
  EXPECT_EQ(sorted_lines(out.text()), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(err.text(), "");
}

TEST_F(Remote, SetsTerminals) {
  three_hosts();
  settings.output.pty = true;
  EXPECT_EQ(run({"sh", "-c", "test -t 1 && test -t 2 && echo $RANK"}).exit_code, 0);
  EXPECT_EQ(sorted_lines(out.text()), (std::vector<std::string>{"0", "1", "2"}));
}

TEST_F(Remote, RanksWriteTheirFiles) {
  std::string directory = testing::TempDir() + "dlaunch-launcher-XXXXXX";
  ASSERT_TRUE(::mkdtemp(directory.data()));
  three_hosts();
  settings.output.files = {.target = directory, .copy = false, .job_directory = false, .job = "1"};
  EXPECT_EQ(run({"sh", "-c", "echo out $RANK; echo err >&2"}).exit_code, 0);
  for (int rank = 0; rank < 3; ++rank) {
    std::ifstream file(directory + "/rank." + std::to_string(rank) + "/stdout");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "out " + std::to_string(rank) + "\n");
  }
  std::filesystem::remove_all(directory);
  EXPECT_EQ(out.text(), "");
}

/// Replaces this process's stdin by the pipe during the object's life.
class StdinFrom {
 public:
  explicit StdinFrom(const sys::Fd& fd) : saved_(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) {
    ::dup2(fd.get(), STDIN_FILENO);
  }
  ~StdinFrom() { saved_ ? ::dup2(saved_.get(), STDIN_FILENO) : ::close(STDIN_FILENO); }
  StdinFrom(const StdinFrom&) = delete;
  StdinFrom& operator=(const StdinFrom&) = delete;

 private:
  sys::Fd saved_;
};

TEST_F(Remote, StdinReachesAllSelectedRanks) {
  sys::Pipe pipe = sys::make_pipe();
  const StdinFrom replaced(pipe.read);
  std::thread writer([&] {
    const std::string piece(100000, 'i');
    for (int i = 0; i < 20; ++i) {
      for (size_t at = 0; at < piece.size();) {
        const ssize_t size = ::write(pipe.write.get(), piece.data() + at, piece.size() - at);
        if (size <= 0) return;
        at += static_cast<size_t>(size);
      }
    }
    pipe.write.reset();
  });
  three_hosts();
  settings.stdin_target.kind = plan::StdinTarget::Kind::all;
  EXPECT_EQ(run({"sh", "-c", "wc -c"}).exit_code, 0);
  writer.join();
  EXPECT_EQ(sorted_lines(out.text()), (std::vector<std::string>{"2000000", "2000000", "2000000"}));
}

class Local : public LauncherFixture {};

TEST_F(Local, PassedStreamsAreComplete) {
  hosts.real(true);
  EXPECT_EQ(run({"sh", "-c", "echo $RANK; echo e$RANK >&2; " + program("spew") + " 1000000"}, 4).exit_code, 0);
  EXPECT_EQ(out.text().size(), 4u * 1000002u);
  EXPECT_EQ(sorted_lines(err.text()), (std::vector<std::string>{"e0", "e1", "e2", "e3"}));
}

TEST_F(Local, LateReaderGetsEveryByte) {
  hosts.real(true);
  read_at_once = false;
  after(500, [this] { out.begin(); });
  EXPECT_EQ(run({program("spew"), "3000000"}, 3).exit_code, 0);
  EXPECT_EQ(out.text().size(), 9000000u);
}

class SlowReader : public LauncherFixture {};

TEST_F(SlowReader, GetsEveryByteOfAllHosts) {
  for (int host = 0; host < 3; ++host) hosts.real();
  read_at_once = false;
  after(500, [this] { out.begin(); });
  EXPECT_EQ(run({program("spew"), "5000000"}).exit_code, 0);
  EXPECT_EQ(out.text().size(), 15000000u);
}

TEST_F(SlowReader, GetsAtMostTheWindowAndLosesNothing) {
  constexpr size_t kTotal = 24u << 20;
  constexpr size_t kBuffers = 2u << 20;  // the buffers of pipe and console
  const std::string piece = std::string(8191, 'x') + "\n";
  std::atomic<size_t> sent_unread{0};
  hosts.script([&](ScriptedAgent& agent) {
    agent.hello();
    size_t credit = agent.expect<wire::Layout>().credit;
    const size_t window = credit;
    agent.expect<wire::Spawn>();
    agent.started(0);
    size_t sent = 0;
    const auto pump = [&](int patience_ms) {
      while (sent < kTotal) {
        while (credit >= piece.size() && sent < kTotal) {
          agent.send(wire::OutputData{0, 1, 15, piece});
          credit -= piece.size();
          sent += piece.size();
        }
        wire::Message said = agent.next(patience_ms);
        if (const auto* more = std::get_if<wire::Credit>(&said)) credit += more->bytes;
        if (std::holds_alternative<wire::Ping>(said) && patience_ms > 0) return;
        EXPECT_LE(credit, window);
      }
    };
    pump(300);
    sent_unread = sent;
    EXPECT_LE(sent, window + kBuffers);
    out.begin();
    pump(-1);
    agent.ended(0);
    agent.finish();
  });
  read_at_once = false;
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_GT(sent_unread, 0u);
  EXPECT_EQ(out.text().size(), kTotal);
}

TEST_F(SlowReader, InterruptEndsAJobWithoutAReader) {
  hosts.real();
  read_at_once = false;
  policy.grace = 300ms;
  after(400, [] { ::kill(::getpid(), SIGINT); });
  after(900, [] { ::kill(::getpid(), SIGINT); });
  after(1400, [] { ::kill(::getpid(), SIGINT); });
  const auto outcome = run({program("spew"), "50000000"});
  EXPECT_EQ(outcome.exit_code, 130);
}

}  // namespace
}  // namespace dlaunch::launcher
