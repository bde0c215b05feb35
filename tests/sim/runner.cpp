#include "runner.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "run_case.h"
#include "time/virtual_time.h"

namespace sim {
namespace {

constexpr const char* kCrash = "crash by signal ";  // 27: a loop without an end; 14: a call that does not return
constexpr std::uint64_t kLongest = 60;              // seconds of the processor for one world
constexpr unsigned kCallsWait = 20;                 // kLongest until the alarm: another program may use the processor

/// A number of the environment. tests/sim/mutants/run.py sets these limits: a build with a defect may break each world.
std::uint64_t limit(const char* name, std::uint64_t otherwise) {
  const char* set = std::getenv(name);
  return set ? std::strtoull(set, nullptr, 10) : otherwise;
}

/// The memory that the children and the parent share.
struct Shared {
  std::atomic<std::uint64_t> next;
  std::atomic<std::uint64_t> worlds;
  std::atomic<std::uint64_t> digest;
  std::atomic<bool> enough;
};

struct Child {
  pid_t pid = 0;
  int from = -1;
  std::string received;
  std::uint64_t number = 0;  // of the world that it runs
};

void write_line(int fd, const std::string& line) {
  for (size_t at = 0; at < line.size();) {
    const ssize_t wrote = ::write(fd, line.data() + at, line.size() - at);
    if (wrote <= 0) ::_exit(3);
    at += static_cast<size_t>(wrote);
  }
}

std::uint64_t digest_of(std::uint64_t number, std::uint64_t trace) {
  dlaunch::Fnv1a digest;
  digest.add(number);
  digest.add(trace);
  return digest.value();
}

/// Ends this process by SIGPROF after `seconds` of the processor, or by SIGALRM if a call does not return; 0: never.
void limit_time(unsigned seconds) {
  const itimerval processor{{}, {static_cast<time_t>(seconds), 0}};
  ::setitimer(ITIMER_PROF, &processor, nullptr);
  ::alarm(kCallsWait * seconds);
}

[[noreturn]] void run_child(const Battery& battery, Shared& shared, double start, int to) {
  const auto longest = static_cast<unsigned>(limit("SIMULATE_LONGEST", kLongest));
  while (!shared.enough && (battery.seconds == 0 || real_seconds() - start < battery.seconds)) {
    const std::uint64_t number = shared.next.fetch_add(1);
    if (number >= battery.count) break;
    write_line(to, "R\t" + std::to_string(number) + '\n');
    limit_time(longest);
    const Report report = run_case(battery.world(number), false);
    limit_time(0);
    shared.worlds.fetch_add(1);
    shared.digest.fetch_xor(digest_of(number, report.digest));
    for (const std::string& promise : report.broken) {
      write_line(to, "B\t" + std::to_string(number) + '\t' + promise + '\t' + report.summary + '\n');
    }
  }
  ::_exit(0);
}

Child start(const Battery& battery, Shared& shared, double begin) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) throw std::runtime_error("pipe2: out of descriptors");
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) run_child(battery, shared, begin, fds[1]);
  ::close(fds[1]);
  return {pid, fds[0], {}, 0};
}

void note(Result& result, const Battery& battery, std::uint64_t number, const std::string& promise,
          const std::string& summary) {
  static constexpr auto faults = [](const std::string& text) { return std::ranges::count(text, '|'); };
  Found& found = result.found[promise];
  const std::string text = to_text(battery.world(number));
  if (found.worlds++ == 0 || faults(text) < faults(found.example)) {
    found.example = text;
    found.summary = summary;
  }
}

}  // namespace

Result run_battery(const Battery& battery, int processes) {
  auto* const shared =
      static_cast<Shared*>(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const double begin = real_seconds();
  Result result;
  std::uint64_t last_broken = ~0ULL;
  const std::uint64_t most_broken = limit("SIMULATE_MOST_BROKEN", ~0ULL);
  std::vector<Child> children;
  for (int i = 0; i < processes; ++i) children.push_back(start(battery, *shared, begin));
  while (!children.empty()) {
    if (result.broken >= most_broken) shared->enough = true;
    std::vector<pollfd> waits;
    for (const Child& child : children) waits.push_back({child.from, POLLIN, 0});
    ::poll(waits.data(), waits.size(), -1);
    for (size_t i = waits.size(); i-- > 0;) {
      if (waits[i].revents == 0) continue;
      Child& child = children[i];
      char bytes[1u << 16];
      const ssize_t n = ::read(child.from, bytes, sizeof bytes);
      if (n > 0) {
        child.received.append(bytes, static_cast<size_t>(n));
        for (size_t end; (end = child.received.find('\n')) != std::string::npos; child.received.erase(0, end + 1)) {
          const std::string line = child.received.substr(0, end);
          child.number = std::strtoull(line.c_str() + 2, nullptr, 10);
          if (line[0] != 'B') continue;
          const size_t promise = line.find('\t', 2) + 1;
          const size_t summary = line.find('\t', promise);
          note(result, battery, child.number, line.substr(promise, summary - promise), line.substr(summary + 1));
          result.broken += std::exchange(last_broken, child.number) != child.number;
        }
        continue;
      }
      int status = 0;
      ::close(child.from);
      ::waitpid(child.pid, &status, 0);
      const std::uint64_t number = child.number;
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
      if (!WIFSIGNALED(status)) continue;
      note(result, battery, number, kCrash + std::to_string(WTERMSIG(status)), "crash");
      ++result.broken;
      shared->worlds.fetch_add(1);
      children.push_back(start(battery, *shared, begin));
    }
  }
  result.worlds = shared->worlds;
  result.digest = shared->digest;
  result.seconds = real_seconds() - begin;
  ::munmap(shared, sizeof(Shared));
  return result;
}

// ---- shrinking ----

namespace {

bool breaks(const Scenario& scenario, const std::string& promise) {
  const Result result = run_battery({1, [&](std::uint64_t) { return scenario; }}, 1);
  return result.found.contains(promise);
}

std::vector<Scenario> simpler_than(const Scenario& s) {
  std::vector<Scenario> simpler;
  const auto with = [&](auto change) {
    Scenario t = s;
    change(t);
    if (t.is_whole() && to_text(t) != to_text(s)) simpler.push_back(std::move(t));
  };
  for (size_t i = 0; i < s.faults.size(); ++i) {
    with([&](Scenario& t) {
      t.faults.erase(t.faults.begin() + static_cast<std::ptrdiff_t>(i));
      if (i == 0 && !t.faults.empty() && t.faults[0].moment.after == Moment::After::fault) {
        t.faults[0].moment.after = Moment::After::start;
        t.faults[0].moment.delay += s.faults[0].moment.delay;
      }
    });
  }
  with([](Scenario& t) { t.deaf.clear(); });
  with([](Scenario& t) { t.daemons.clear(); });
  with([](Scenario& t) { t.stuck.clear(); });
  with([](Scenario& t) { t.timeout = 0; });
  with([](Scenario& t) { t.after_first = 0; });
  with([](Scenario& t) { t.here = t.stdin_ = t.preempt = t.shell = t.loud = t.writes = false; });
  with([](Scenario& t) { t.spawn = 0; });
  with([](Scenario& t) { t.spawn = std::min(t.spawn, 1); });
  with([](Scenario& t) { t.spares = 0; });
  with([](Scenario& t) { t.idle = 0; });
  with([](Scenario& t) { t.restarts = t.spares = 0, t.shrink = false; });
  with([](Scenario& t) { t.restarts = std::min(t.restarts, 1); });
  with([](Scenario& t) { t.ranks = 1; });
  with([](Scenario& t) { t.hosts = std::max(1, t.hosts - 1); });
  with([](Scenario& t) { t.grace = 3 * kSecond; });
  with([](Scenario& t) { t.length = 40 * kSecond; });
  with([](Scenario& t) { t.seed = 2; });
  for (size_t i = 0; i < s.faults.size(); ++i) {
    with([&](Scenario& t) { t.faults[i].host = 0; });
    with([&](Scenario& t) { t.faults[i].length = t.faults[i].length / (5 * kSecond) * 5 * kSecond; });
    with([&](Scenario& t) { t.faults[i].moment.delay = t.faults[i].moment.delay / kSecond * kSecond; });
    with([&](Scenario& t) { t.faults[i].moment.delay = t.faults[i].moment.delay / (10 * kMs) * 10 * kMs; });
  }
  return simpler;
}

}  // namespace

Scenario shrink(Scenario scenario, const std::string& promise) {
  constexpr int kMostTries = 400;
  int tries = 0;
  for (bool smaller = true; smaller && tries < kMostTries;) {
    smaller = false;
    for (const Scenario& simpler : simpler_than(scenario)) {
      ++tries;
      if (!breaks(simpler, promise)) continue;
      scenario = simpler;
      smaller = true;
      break;
    }
  }
  return scenario;
}

}  // namespace sim
