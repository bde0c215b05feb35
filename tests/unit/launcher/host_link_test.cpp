// The reason of a host's loss, from the stderr of the transport's command.
#include "launcher/host_link.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

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

  transport::Disconnect way_;

 private:
  asio::io_context io_{1};
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
  EXPECT_EQ(loss().ordered, said);
}

TEST_F(HostLinkErrors, OfAFailedNodeDoNotSetOrdered) {
  agent_says_hello();
  command_says("slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-22T14:35:19 DUE TO NODE FAILURE ***\n");
  why_lost();
  EXPECT_EQ(loss().ordered, "");
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

}  // namespace
}  // namespace dlaunch::launcher
