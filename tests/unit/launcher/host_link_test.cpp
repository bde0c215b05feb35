// The loss of a host: its reason, from the stderr of the transport's command, and its time.
#include "launcher/host_link.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "job/job.h"
#include "sys/io.h"
#include "wire/codec.h"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;

class HostLinkErrors : public testing::Test {
 protected:
  explicit HostLinkErrors(const JobOptions& options = {}, bool connects_to_us = false) : options_(options) {
    auto [ours, theirs] = sys::make_socketpair();
    agent_ = std::move(theirs);
    sys::Pipe errors = sys::make_pipe();
    errors_ = std::move(errors.write);
    transport::Connection connection{
        .stream = std::move(ours), .errors = std::move(errors.read), .disconnect = [this] { return way_; }};
    if (connects_to_us) connection.passed_on_by = [](std::chrono::steady_clock::time_point) { return true; };
    link_.emplace(
        io_, std::move(connection), options_,
        HostLink::Handlers{[](wire::Message&&, std::deque<sys::Fd>&) {},
                           [this](const HostFailure& failure) { lost_ = failure; }, [](const std::string&) {}});
  }

  void command_says(std::string_view text) const {
    EXPECT_EQ(::write(errors_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void agent_says_hello() {
    std::string bytes;
    wire::encode(wire::Hello{}, bytes);
    EXPECT_EQ(::write(agent_.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    io_.poll();
    EXPECT_GT(::read(agent_.get(), bytes.data(), bytes.size()), 0);  // ReadClock; unread bytes would reset the link
  }
  std::string why_lost() {
    agent_.reset();
    return loss().why;
  }
  HostFailure loss() {
    while (!lost_ && io_.run_one_for(10s) > 0) {
    }
    return lost_.value_or(HostFailure{});
  }

  void agent_sends(const wire::Message& message) const {
    std::string bytes;
    wire::encode(message, bytes);
    EXPECT_EQ(::write(agent_.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  /// The messages of the launcher since the last call.
  std::vector<wire::Message> messages() {
    sys::set_nonblocking(agent_.get());
    char bytes[1u << 16];
    const ssize_t size = ::read(agent_.get(), bytes, sizeof bytes);
    if (size > 0) decoder_.feed({bytes, static_cast<size_t>(size)});
    std::vector<wire::Message> all;
    for (auto next = decoder_.next(); next && *next; next = decoder_.next()) all.push_back(std::move(**next));
    return all;
  }
  bool is_lost() const { return lost_.has_value(); }
  HostLink& link() { return *link_; }
  asio::io_context& io() { return io_; }

  transport::Disconnect way_;

 private:
  asio::io_context io_{1};
  wire::Decoder decoder_;
  const JobOptions options_;
  sys::Fd agent_, errors_;
  std::optional<HostLink> link_;
  std::optional<HostFailure> lost_;
};

TEST_F(HostLinkErrors, ExplainAMissingAgent) {
  command_says("srun: error: Invalid partition\n");
  EXPECT_EQ(why_lost(), "lost the connection to the agent: closed by the other side: srun: error: Invalid partition");
}

TEST_F(HostLinkErrors, BeforeTheFirstAnswerDoNotExplainALaterEnd) {
  command_says("srun: cluster configuration lacks support for cpu binding\n");
  agent_says_hello();
  EXPECT_EQ(why_lost(), "lost the connection to the agent: closed by the other side");
}

TEST_F(HostLinkErrors, AfterTheFirstAnswerExplainTheEnd) {
  command_says("srun: cluster configuration lacks support for cpu binding\n");
  agent_says_hello();
  command_says("srun: error: node1: task 0: Killed\n");
  EXPECT_EQ(why_lost(),
            "lost the connection to the agent: closed by the other side: srun: error: node1: task 0: Killed");
}

TEST_F(HostLinkErrors, OfAStepEndedByTheBatchSystemSetOrdered) {
  const std::string said = "slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-22T14:35:19 ***";
  way_ = {.what = "its connection ended", .why = "closed by the other side", .hint = {}};
  agent_says_hello();
  command_says(said + '\n');
  EXPECT_EQ(why_lost(), "its connection ended: closed by the other side: " + said);
  EXPECT_EQ(loss().ordered.text, said);
}

TEST_F(HostLinkErrors, OfAFailedNodeDoNotSetOrdered) {
  agent_says_hello();
  command_says("slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-22T14:35:19 DUE TO NODE FAILURE ***\n");
  why_lost();
  EXPECT_EQ(loss().ordered.text, "");
}

class HostLinkSilence : public HostLinkErrors {
 protected:
  HostLinkSilence() : HostLinkErrors(quick(), true) {}

 private:
  static JobOptions quick() {
    JobOptions options;
    options.ready_wait = 1s;
    options.heartbeat = 50ms;
    return options;
  }
};

TEST_F(HostLinkSilence, BeforeTheFirstAnswerIsAConnectTimeout) {
  EXPECT_EQ(loss().why, "timed out after 1 s waiting for the agent");
}

class HostLinkHeartbeat : public HostLinkErrors {
 protected:
  static constexpr auto kBeat = 200ms;
  HostLinkHeartbeat() : HostLinkErrors(quick()) {
    link().send(wire::Setup{});
    agent_says_hello();
  }
  /// Runs the loop for this time, and answers each Ping of the launcher, if wanted.
  void run_for(std::chrono::milliseconds time, bool answer = true) {
    const auto end = Clock::now() + time;
    while (!is_lost() && Clock::now() < end) {
      io().run_one_for(std::min<Duration>(kBeat / 4, end - Clock::now()));
      for (const wire::Message& message : messages()) {
        const auto* ping = std::get_if<wire::Ping>(&message);
        if (!ping) continue;
        last_answered_ = ping->answered;
        agent_sends(wire::Ping{++number_, answer ? ping->number : 0});
      }
    }
  }
  void layout(std::uint32_t lease_ms) {
    wire::Layout layout;
    layout.lease_ms = lease_ms;
    link().send(layout);
  }
  Duration gone_in() { return link().gone_by() - Clock::now(); }

  static constexpr auto kLimit = 600s;
  static constexpr auto kGrace = 3s;
  std::uint64_t number_ = 0, last_answered_ = 0;

 private:
  static JobOptions quick() {
    JobOptions options;
    options.heartbeat = kBeat;
    options.pause_limit = kLimit;
    options.policy.grace = kGrace;
    return options;
  }
};

TEST_F(HostLinkHeartbeat, LosesASilentHostThreeHeartbeatsAfterItsLastFrame) {
  run_for(kBeat * 2 + kBeat / 2);  // in the middle between two heartbeats
  agent_sends(wire::Ping{++number_, 0});
  const auto last = Clock::now();
  EXPECT_EQ(loss().why, "the agent stopped sending heartbeats");
  EXPECT_GE(Clock::now() - last, kBeat * 3);
  EXPECT_LT(Clock::now() - last, kBeat * 3 + kBeat / 2);
}

TEST_F(HostLinkHeartbeat, KeepsAHostThatAnswers) {
  run_for(kBeat * 8);
  EXPECT_FALSE(is_lost());
  EXPECT_GE(last_answered_, 5u);
}

TEST_F(HostLinkHeartbeat, LosesAHostThatDoesNotAnswer) {
  run_for(kBeat * 8, false);
  EXPECT_TRUE(is_lost());
  EXPECT_EQ(loss().why, "the agent does not answer");
}

TEST_F(HostLinkHeartbeat, ReadsBytesThatWaitBeforeAHostIsLost) {
  run_for(kBeat);
  std::this_thread::sleep_for(kBeat * 4);  // the launcher is stopped
  agent_sends(wire::Ping{++number_, 1});
  run_for(kBeat * 2);
  EXPECT_FALSE(is_lost());
}

TEST_F(HostLinkHeartbeat, AllowsAnIntervalAfterTheLauncherWasStopped) {
  run_for(kBeat);
  std::this_thread::sleep_for(kBeat * 5);
  const auto continued = Clock::now();
  EXPECT_EQ(loss().why, "the agent stopped sending heartbeats");
  EXPECT_GE(Clock::now() - continued, kBeat);
}

TEST_F(HostLinkHeartbeat, SendsASignOfLifeAfterAPause) {
  messages();
  link().pause();
  io().poll();
  const auto paused = messages();
  ASSERT_FALSE(paused.empty());
  EXPECT_TRUE(std::holds_alternative<wire::Pause>(paused.back()));
  link().resumed();
  io().poll();
  const auto resumed = messages();
  ASSERT_FALSE(resumed.empty());
  EXPECT_TRUE(std::holds_alternative<wire::Ping>(resumed.back()));
}

TEST_F(HostLinkHeartbeat, RanksAreGoneAfterLeaseGraceAndKill) {
  layout(800);
  const Duration rest = kGrace + job::kKillWait;
  EXPECT_LE(gone_in(), 800ms + rest);
  EXPECT_GE(gone_in(), 700ms + rest);
  layout(0);
  EXPECT_GE(gone_in(), kLimit + rest - 100ms);
}

TEST_F(HostLinkHeartbeat, OnlyAnAnsweredPingRenewsTheLease) {
  layout(800);
  const auto first = link().gone_by();
  agent_sends(wire::Ping{1, 0});
  while (io().poll_one() > 0) {
  }
  EXPECT_EQ(link().gone_by(), first);
  link().ping();
  EXPECT_GT(link().gone_by(), first);
  const auto renewed = link().gone_by();
  link().ping();
  EXPECT_EQ(link().gone_by(), renewed) << "the same Ping was answered again";
}

TEST_F(HostLinkHeartbeat, PauseAddsThePauseLimitUntilTheAgentAnswersALaterPing) {
  layout(800);
  const auto before = link().gone_by();
  link().pause();
  EXPECT_EQ(link().gone_by() - before, kLimit + 800ms);
  link().resumed();
  EXPECT_GE(link().gone_by() - before, kLimit + 800ms);
  run_for(kBeat * 2);
  EXPECT_LE(gone_in(), 800ms + kGrace + job::kKillWait);
}

}  // namespace
}  // namespace dlaunch::launcher
