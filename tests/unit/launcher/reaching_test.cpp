// How hosts are reached: so many at a time, again where that may help, and told once. The ways are fakes that count.
#include "launcher/hosts.h"

#include <gmock/gmock.h>

#include <csignal>
#include <map>
#include <thread>

#include "stage.h"
#include "sys/io.h"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Retry = transport::WayEnd::Retry;

/// Each host turns away its first visitors; then an agent greets, as this identity.
class Doors : public transport::Transport {
 public:
  ~Doors() override {
    for (std::thread& agent : agents_) agent.join();
  }

  Result<transport::Opened> open(const plan::Host& host) override {
    ++opened[host.name];
    most_at_once = std::max(most_at_once, ++at_once);
    auto [ours, theirs] = sys::make_socketpair();
    if (opened[host.name] <= turned_away[host.name]) {
      const Retry retry = why[host.name];
      return transport::Opened{.stream = std::move(ours), .way_end = [retry] {
                                 return transport::WayEnd{"cannot connect", "busy", "wait", retry};
                               }};
    }
    if (silent) {
      kept_.push_back(std::move(theirs));
    } else {
      greet(std::move(theirs), identities[host.name]);
    }
    return transport::Opened{.stream = std::move(ours)};
  }
  void close() override {}

  std::map<std::string, int> opened, turned_away;
  std::map<std::string, Retry> why;
  std::map<std::string, std::string> identities;
  bool silent = false;
  int at_once = 0, most_at_once = 0;

 private:
  void greet(sys::Fd link, const std::string& identity) {
    agents_.emplace_back([identity, link = std::move(link)]() mutable {
      Script agent(std::move(link));
      try {
        agent.expect<wire::Setup>();
        agent.send(wire::Hello{wire::kVersion, "kernel-name", "x86_64", 1, 5, identity});
        agent.until_gone();
      } catch (const Script::Gone&) {  // the test is over
      }
    });
  }

  std::vector<std::thread> agents_;
  std::vector<sys::Fd> kept_;
};

class Reaching : public testing::Test {
 protected:
  Reaching() { std::signal(SIGPIPE, SIG_IGN); }

  void open(const std::vector<std::string>& names, std::chrono::milliseconds limit = 10s) {
    hosts_.listen({[this](int host, const wire::Hello&) { answered(ready, host); },
                   [this](int host, const Loss& loss) {
                     answered(lost, host);
                     reasons.push_back(loss.why);
                   },
                   [](int, wire::Message&&, std::deque<sys::Fd>&) {},
                   [this](const std::string& note) { notes.push_back(note); }});
    std::vector<plan::Host> hosts(names.size());
    for (size_t i = 0; i < names.size(); ++i) hosts[i].name = names[i];
    expected_ = names.size();
    hosts_.open(hosts);
    io_.run_for(limit);
    hosts_.close();
  }

  Doors doors;
  Settings settings;
  std::vector<int> ready, lost;
  std::vector<std::string> reasons, notes;

 private:
  void answered(std::vector<int>& where, int host) {
    --doors.at_once;
    where.push_back(host);
    if (ready.size() + lost.size() == expected_) io_.stop();
  }

  asio::io_context io_{1};
  Hosts hosts_{io_, doors, "job", settings, {}};
  size_t expected_ = 0;
};

TEST_F(Reaching, AThrottlingHostIsTriedAgain) {
  doors.turned_away["a"] = 2;
  doors.why["a"] = Retry::soon;
  open({"a"});
  EXPECT_THAT(ready, ElementsAre(0));
  EXPECT_EQ(doors.opened["a"], 3);
}

TEST_F(Reaching, ARefusalIsFinal) {
  doors.turned_away["a"] = 1;
  doors.why["a"] = Retry::never;
  settings.wait_hosts = 5s;
  open({"a"});
  EXPECT_THAT(lost, ElementsAre(0));
  EXPECT_THAT(reasons, ElementsAre("cannot connect: busy"));
  EXPECT_EQ(doors.opened["a"], 1);
}

TEST_F(Reaching, AHostThatIsNotUpIsWaitedForWhenAsked) {
  doors.turned_away["a"] = 1;
  doors.why["a"] = Retry::when_up;
  settings.wait_hosts = 5s;
  open({"a"});
  EXPECT_THAT(ready, ElementsAre(0));
}

TEST_F(Reaching, AHostThatIsNotUpIsLostWhenNotAsked) {
  doors.turned_away["a"] = 1;
  doors.why["a"] = Retry::when_up;
  open({"a"});
  EXPECT_THAT(lost, ElementsAre(0));
}

TEST_F(Reaching, OnlySoManyAtATime) {
  std::vector<std::string> names;
  for (int i = 0; i < 3 * Hosts::kAtOnce; ++i) names.push_back("n" + std::to_string(i));
  open(names);
  EXPECT_EQ(ready.size(), names.size());
  EXPECT_EQ(doors.most_at_once, Hosts::kAtOnce);
}

TEST_F(Reaching, TwoNamesOfOneHostAreNoticed) {
  doors.identities = {{"a", "x"}, {"b", "y"}, {"c", "x"}};
  open({"a", "b", "c"});
  EXPECT_THAT(notes, ElementsAre("a,c are names of one host; each gets ranks"));
}

TEST_F(Reaching, SilenceIsNoAnswer) {
  doors.silent = true;
  open({"a"}, 100ms);
  EXPECT_THAT(ready, IsEmpty());
  EXPECT_THAT(lost, IsEmpty());
}

}  // namespace
}  // namespace dlaunch::launcher
