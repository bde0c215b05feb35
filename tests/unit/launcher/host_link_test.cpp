// Why a host is lost, as the stderr of the command that led there tells it.
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
  HostLinkErrors() {
    auto [ours, theirs] = sys::make_socketpair();
    agent_ = std::move(theirs);
    sys::Pipe errors = sys::make_pipe();
    errors_ = std::move(errors.write);
    link_.emplace(
        io_, transport::Connection{.stream = std::move(ours), .errors = std::move(errors.read)}, options_,
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
  }
  std::string why_lost() {
    agent_.reset();
    while (!lost_ && io_.run_one_for(10s) > 0) {
    }
    return lost_.value_or(HostFailure{}).why;
  }

 private:
  asio::io_context io_{1};
  const JobOptions options_;
  sys::Fd agent_, errors_;
  std::optional<HostLink> link_;
  std::optional<HostFailure> lost_;
};

TEST_F(HostLinkErrors, TellWhyNoAgentAnswers) {
  command_says("srun: error: Invalid partition\n");
  EXPECT_EQ(why_lost(), "the link to its agent ended: closed by the other side: srun: error: Invalid partition");
}

TEST_F(HostLinkErrors, FromBeforeTheAgentAnswersAreNoReasonForItsEnd) {
  command_says("srun: cluster configuration lacks support for cpu binding\n");
  agent_says_hello();
  EXPECT_EQ(why_lost(), "the link to its agent ended: closed by the other side");
}

TEST_F(HostLinkErrors, SinceTheAgentAnsweredTellItsEnd) {
  command_says("srun: cluster configuration lacks support for cpu binding\n");
  agent_says_hello();
  command_says("srun: error: node1: task 0: Killed\n");
  EXPECT_EQ(why_lost(), "the link to its agent ended: closed by the other side: srun: error: node1: task 0: Killed");
}

}  // namespace
}  // namespace dlaunch::launcher
