// Objects that end while the loop, stopped by another handler, keeps their ready callbacks: no callback may follow.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "launcher/stdin_source.h"
#include "launcher/sweeps.h"
#include "launcher/waits.h"
#include "launcher_fixture.h"
#include "sys/io.h"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;

/// Runs the loop until a callback stops it, ends the owners of the other callbacks, and runs the rest.
class DeadOwner : public testing::Test {
 protected:
  void called() {
    ++calls;
    io.stop();
  }
  void run_again_after(const std::function<void()>& end) {
    io.run();
    end();
    io.restart();
    io.run_for(100ms);
  }

  asio::io_context io{1};
  int calls = 0;
};

TEST_F(DeadOwner, DeadlineDoesNotCall) {
  asio::steady_timer first(io, Clock::now() - 1s);
  first.async_wait([this](asio::error_code) { called(); });
  auto deadline = std::make_unique<Deadline>(io, [this] { called(); });
  deadline->set(Clock::now() - 500ms);
  run_again_after([&] { deadline.reset(); });
  EXPECT_EQ(calls, 1);
}

TEST_F(DeadOwner, ReadinessDoesNotCall) {
  for (const bool close : {false, true}) {
    calls = 0;
    io.restart();
    const sys::Pipe pipe = sys::make_pipe();
    std::optional<Readiness> one(std::in_place, io, pipe.write.get(), Readiness::For::writing);
    std::optional<Readiness> other(std::in_place, io, pipe.write.get(), Readiness::For::writing);
    one->wait([this] { called(); });
    other->wait([this] { called(); });
    run_again_after([&] {
      if (close) return one->close(), other->close();
      one.reset(), other.reset();
    });
    EXPECT_EQ(calls, 1);
  }
}

TEST_F(DeadOwner, StdinSourceDoesNotRead) {
  const sys::Fd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));  // always ready: its read is posted
  auto source = std::make_unique<StdinSource>(io, file.get(), 1,
                                              StdinSource::Handlers{.send = [this](auto&&...) { called(); },
                                                                    .failed = [this](int) { called(); },
                                                                    .hung_up = [this] { called(); }});
  source->add(0);
  source.reset();
  io.run_for(100ms);
  EXPECT_EQ(calls, 0);
}

TEST_F(DeadOwner, HostLinkIsNotLost) {
  JobOptions settings;
  settings.ready_wait = 0ms;
  std::vector<sys::Fd> agents;
  std::vector<std::unique_ptr<HostLink>> links;
  for (int i = 0; i < 2; ++i) {
    auto [ours, theirs] = sys::make_socketpair();
    agents.push_back(std::move(theirs));
    transport::Connection connection{.stream = std::move(ours), .bootstrap = true};
    links.push_back(std::make_unique<HostLink>(
        io, std::move(connection), settings,
        HostLink::Handlers{[](auto&&...) {}, [this](const HostFailure&) { called(); }, [](const std::string&) {}}));
  }
  run_again_after([&] { links.clear(); });
  EXPECT_EQ(calls, 1);
}

TEST_F(DeadOwner, SweepsDoNotReport) {
  FakeHosts hosts;
  hosts.unreachable();
  hosts.unreachable_again();
  const JobOptions settings;
  spdlog::logger log("silent");
  Hosts links(io, hosts, "job", settings, log);
  plan::Host host;
  host.name = "n0";
  links.open({host});
  auto sweeps = std::make_unique<Sweeps>(io, links, settings, [this](const job::Event&) { called(); });
  sweeps->begin(0);
  sweeps.reset();
  io.run_for(100ms);
  EXPECT_EQ(calls, 0);
}

using BetweenRounds = LauncherFixture;

TEST_F(BetweenRounds, ReadyHandlersRunBeforeTheLauncherEnds) {
  hosts.real();
  round.may_follow = true;
  int calls = 0;
  after_round = [&](Launcher& launcher) {
    for (int handler = 0; handler < 3; ++handler) {
      after(0, [&] {
        ++calls;
        io.stop();  // as a signal does after the end of the round
      });
    }
    launcher.settle();
    EXPECT_EQ(calls, 3);
  };
  EXPECT_TRUE(run({"false"}).may_restart);
}

}  // namespace
}  // namespace dlaunch::launcher
