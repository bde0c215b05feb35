// Connecting to hosts: a limited number at a time, with retries, each reported once. The transports are fakes that
// count.
#include "launcher/hosts.h"

#include <gmock/gmock.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <thread>

#include "launcher_fixture.h"
#include "sys/io.h"
#include "transport/bootstrap.h"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Retry = transport::Disconnect::Retry;

/// Each host rejects its first connections; then an agent with this identity sends Hello.
class Doors : public transport::Transport {
 public:
  ~Doors() override {
    for (std::thread& agent : agents_) agent.join();
  }

  Result<transport::Connection> open(const plan::Host& host) override {
    ++opened[host.name];
    most_at_once = std::max(most_at_once, ++at_once);
    auto [ours, theirs] = sys::make_socketpair();
    if (opened[host.name] <= turned_away[host.name]) {
      const Retry retry = why[host.name];
      return transport::Connection{.stream = std::move(ours), .disconnect = [retry] {
                                     return transport::Disconnect{"cannot connect", "busy", "wait", retry};
                                   }};
    }
    if (opened[host.name] <= given_up[host.name]) {
      ScriptedAgent(std::move(theirs)).send(wire::Log{wire::Log::kNoSetup, "the launcher sent no heartbeat"});
      return transport::Connection{.stream = std::move(ours)};
    }
    if (slow) return take_slowly(std::move(ours), std::move(theirs));
    if (silent) {
      kept_.push_back(std::move(theirs));
    } else {
      greet(std::move(theirs), identities[host.name]);
    }
    return transport::Connection{.stream = std::move(ours)};
  }
  void close() override {}

  /// The shell requests the agent's bytes, and reads a piece at a time.
  Result<transport::Connection> take_slowly(sys::Fd ours, sys::Fd theirs) {
    agents_.emplace_back([this, shell = std::move(theirs)]() mutable {
      const std::string script = read_until(shell, "\nexec \"$a\" \"$@\"\n}\n");
      const std::string mark = "\ndlaunch:" + script.substr(2, script.find(' ') - 2) + ' ';
      const std::string machine(transport::agent_image().machine);
      write(shell, mark + "need " + machine + '\n');
      std::vector<char> piece(piece_size);
      for (size_t left = transport::agent_image().bytes.size(); left > 0;) {
        std::this_thread::sleep_for(piece_pause);
        for (size_t room = std::min(left, piece_size); room > 0;) {  // a socket may deliver less at once
          const ssize_t got = ::read(shell.get(), piece.data(), room);
          if (got <= 0) return;
          room -= static_cast<size_t>(got);
          left -= static_cast<size_t>(got);
        }
      }
      write(shell, mark + "ready " + machine + '\n');
      serve(std::move(shell), "");
    });
    return transport::Connection{.stream = std::move(ours), .bootstrap = true};
  }

  std::map<std::string, int> opened, turned_away;
  std::map<std::string, int> given_up;  ///< the number of agents that end because they receive no Setup
  std::map<std::string, Retry> why;
  std::map<std::string, std::string> identities;
  bool silent = false;
  bool slow = false;
  size_t piece_size = 256 << 10;
  std::chrono::milliseconds piece_pause{0};
  int at_once = 0, most_at_once = 0;

 private:
  void greet(sys::Fd link, const std::string& identity) {
    agents_.emplace_back([identity, link = std::move(link)]() mutable { serve(std::move(link), identity); });
  }

  static void serve(sys::Fd link, const std::string& identity) {
    ScriptedAgent agent(std::move(link));
    try {
      agent.expect<wire::Setup>();
      agent.send(wire::Hello{wire::kVersion, "kernel-name", "x86_64", 1, 5, identity});
      agent.until_gone();
    } catch (const ScriptedAgent::Gone&) {  // the test is over
    }
  }

  static std::string read_until(const sys::Fd& from, std::string_view end) {
    std::string text;
    for (char c; !text.ends_with(end) && ::read(from.get(), &c, 1) == 1;) text += c;
    return text;
  }

  static void write(const sys::Fd& to, std::string_view bytes) {
    EXPECT_EQ(::write(to.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

  std::vector<std::thread> agents_;
  std::vector<sys::Fd> kept_;
};

struct Notes : spdlog::sinks::base_sink<spdlog::details::null_mutex> {
  std::vector<std::string> texts;

 private:
  void sink_it_(const spdlog::details::log_msg& said) override {
    if (said.level == spdlog::level::warn) texts.emplace_back(said.payload.data(), said.payload.size());
  }
  void flush_() override {}
};

class Reaching : public testing::Test {
 protected:
  Reaching() { std::signal(SIGPIPE, SIG_IGN); }

  void open(const std::vector<std::string>& names, std::chrono::milliseconds limit = 10s) {
    hosts_.listen({[this](int host, const wire::Hello&) { answered(ready, host); },
                   [this](int host, const HostFailure& loss) {
                     answered(lost, host);
                     reasons.push_back(loss.why);
                   },
                   [](int, wire::Message&&, std::deque<sys::Fd>&) {}, true});
    std::vector<plan::Host> hosts(names.size());
    for (size_t i = 0; i < names.size(); ++i) hosts[i].name = names[i];
    expected_ = names.size();
    hosts_.open(hosts);
    io_.run_for(limit);
    hosts_.close();
  }

  Doors doors;
  JobOptions settings;
  std::vector<int> ready, lost;
  std::vector<std::string> reasons;
  const std::shared_ptr<Notes> notes = std::make_shared<Notes>();

 private:
  void answered(std::vector<int>& where, int host) {
    --doors.at_once;
    where.push_back(host);
    if (ready.size() + lost.size() == expected_) io_.stop();
  }

  asio::io_context io_{1};
  spdlog::logger log_{"notes", notes};
  Hosts hosts_{io_, doors, "job", settings, log_};
  size_t expected_ = 0;
};

TEST_F(Reaching, RetriesAThrottlingHost) {
  doors.turned_away["a"] = 2;
  doors.why["a"] = Retry::soon;
  open({"a"});
  EXPECT_THAT(ready, ElementsAre(0));
  EXPECT_EQ(doors.opened["a"], 3);
}

TEST_F(Reaching, RetriesAHostWhoseAgentGaveTheLauncherUp) {
  doors.given_up["a"] = 2;
  open({"a"});
  EXPECT_THAT(ready, ElementsAre(0));
  EXPECT_EQ(doors.opened["a"], 3);
}

TEST_F(Reaching, DoesNotRetryARefusal) {
  doors.turned_away["a"] = 1;
  doors.why["a"] = Retry::never;
  settings.wait_hosts = 5s;
  open({"a"});
  EXPECT_THAT(lost, ElementsAre(0));
  EXPECT_THAT(reasons, ElementsAre("cannot connect: busy"));
  EXPECT_EQ(doors.opened["a"], 1);
}

TEST_F(Reaching, WaitsForADownHostIfRequested) {
  doors.turned_away["a"] = 1;
  doors.why["a"] = Retry::when_up;
  settings.wait_hosts = 5s;
  open({"a"});
  EXPECT_THAT(ready, ElementsAre(0));
}

TEST_F(Reaching, LosesADownHostByDefault) {
  doors.turned_away["a"] = 1;
  doors.why["a"] = Retry::when_up;
  open({"a"});
  EXPECT_THAT(lost, ElementsAre(0));
}

TEST_F(Reaching, LimitsParallelConnections) {
  settings.hosts_at_once = 5;
  std::vector<std::string> names;
  for (int i = 0; i < 3 * settings.hosts_at_once; ++i) names.push_back("n" + std::to_string(i));
  open(names);
  EXPECT_EQ(ready.size(), names.size());
  EXPECT_EQ(doors.most_at_once, settings.hosts_at_once);
}

TEST_F(Reaching, ReportsTwoNamesOfOneHost) {
  doors.identities = {{"a", "x"}, {"b", "y"}, {"c", "x"}};
  open({"a", "b", "c"});
  EXPECT_THAT(notes->texts, ElementsAre("a,c are names of the same host; each name gets ranks"));
}

TEST_F(Reaching, WaitsForASlowlyTransferredAgent) {
  doors.slow = true;
  doors.piece_size = transport::agent_image().bytes.size() / 16;
  doors.piece_pause = 50ms;
  settings.ready_wait = 400ms;
  open({"a"});
  EXPECT_THAT(reasons, IsEmpty());
  EXPECT_THAT(ready, ElementsAre(0));
}

TEST_F(Reaching, TimesOutIfTheAgentTransferStalls) {
  doors.slow = true;
  doors.piece_pause = 800ms;
  settings.ready_wait = 400ms;
  open({"a"});
  EXPECT_THAT(reasons, ElementsAre("timed out after 0 s waiting for the agent"));
}

TEST_F(Reaching, TimesOutWithoutAnAnswer) {
  doors.silent = true;
  open({"a"}, 100ms);
  EXPECT_THAT(ready, IsEmpty());
  EXPECT_THAT(lost, IsEmpty());
}

}  // namespace
}  // namespace dlaunch::launcher
