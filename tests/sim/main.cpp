// simulate: runs simulated worlds. scripts/simulate builds and calls it; docs/simulation.md describes it.
#include <malloc.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "batteries.h"
#include "bound.h"
#include "promises/sentences.h"
#include "run_case.h"
#include "runner.h"

namespace {

constexpr int kBroken = 1;
constexpr int kUsage = 2;

constexpr const char* kHelp =
    "Usage: simulate --singles | --pairs [EVERY [FIRST]] | --random MINUTES [SEED] | --ci HASH FILE... |\n"
    "                --worlds FILE... | --world LINE | --shrink LINE | --count | --sentences | --bounds\n";

int processes() {
  const char* set = std::getenv("SIMULATE_PROCESSES");
  return set ? std::max(1, std::atoi(set)) : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

/// The promises that tests/sim/known.txt lists as broken: a promise and its reason, separated by " # ".
std::set<std::string> known_promises() {
  std::set<std::string> known;
  const char* path = std::getenv("SIMULATE_KNOWN");
  std::ifstream file(path ? path : "");
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') known.insert(line.substr(0, line.find(" # ")));
  }
  return known;
}

/// Prints what a battery found; returns the exit code.
int print(const char* name, const sim::Result& result, bool shrunk) {
  std::printf("%s: %llu worlds, %llu with a broken promise, %.1f s, %.0f worlds/s, digest %016llx\n", name,
              static_cast<unsigned long long>(result.worlds), static_cast<unsigned long long>(result.broken),
              result.seconds, static_cast<double>(result.worlds) / std::max(result.seconds, 1e-3),
              static_cast<unsigned long long>(result.digest));
  const std::set<std::string> known = known_promises();
  bool broken = false;
  for (const auto& [promise, found] : result.found) {
    if (known.contains(promise)) {
      std::printf("KNOWN %s: %llu worlds\n", promise.c_str(), static_cast<unsigned long long>(found.worlds));
      continue;
    }
    broken = true;
    std::printf("BROKEN %s\n  %llu worlds, for example\n  %s\n  => %s\n", promise.c_str(),
                static_cast<unsigned long long>(found.worlds), found.example.c_str(), found.summary.c_str());
    if (shrunk && !std::getenv("SIMULATE_NO_SHRINK"))
      std::printf("  shrunk: %s\n", to_text(sim::shrink(sim::parse_scenario(found.example), promise)).c_str());
    std::fflush(stdout);
  }
  return broken ? kBroken : 0;
}

int run_singles(bool shrunk) {
  const auto worlds = sim::singles();
  return print("singles", sim::run_battery({worlds.size(), [&](std::uint64_t i) { return worlds[i]; }}, processes()),
               shrunk);
}

int run_pairs(std::uint64_t every, std::uint64_t first, bool shrunk) {
  const std::uint64_t count = sim::pair_count() / every;
  return print(
      "pairs",
      sim::run_battery({count, [&](std::uint64_t i) { return sim::pair((i * every + first) % sim::pair_count()); }},
                       processes()),
      shrunk);
}

int run_random(double seconds, std::uint64_t seed, bool shrunk) {
  return print(
      "random",
      sim::run_battery({~0ULL, [seed](std::uint64_t i) { return sim::random_world(seed + i); }, seconds}, processes()),
      shrunk);
}

int run_world(const std::string& line) {
  const sim::Scenario scenario = sim::parse_scenario(line);
  const sim::Report report = sim::run_case(scenario, true);
  std::printf("%s\n", to_text(scenario).c_str());
  for (const std::string& each : report.trace) std::printf("%s\n", each.c_str());
  std::printf("=> %s\n", report.summary.c_str());
  for (const std::string& promise : report.broken) std::printf("BROKEN %s\n", promise.c_str());
  return report.broken.empty() ? 0 : kBroken;
}

int run_shrink(const std::string& line) {
  const sim::Scenario scenario = sim::parse_scenario(line);
  const sim::Result result = sim::run_battery({1, [&](std::uint64_t) { return scenario; }}, 1);
  for (const auto& [promise, found] : result.found) {
    const std::string small = to_text(sim::shrink(scenario, promise));
    std::printf("BROKEN %s\n  %s\n", promise.c_str(), small.c_str());
  }
  return result.found.empty() ? 0 : kBroken;
}

/// The worlds of regression files: a line each; "#" begins a comment.
std::vector<sim::Scenario> read_worlds(int count, char** paths) {
  std::vector<sim::Scenario> worlds;
  for (int i = 0; i < count; ++i) {
    std::ifstream file(paths[i]);
    if (!file) throw std::runtime_error(std::string("cannot read ") + paths[i]);
    for (std::string line; std::getline(file, line);) {
      if (!line.empty() && line[0] != '#') worlds.push_back(sim::parse_scenario(line));
    }
  }
  return worlds;
}

int run_files(int files, char** paths) {
  const auto worlds = read_worlds(files, paths);
  return print("worlds of files",
               sim::run_battery({worlds.size(), [&](std::uint64_t i) { return worlds[i]; }}, processes()), false);
}

/// The worlds that each commit must pass: all single faults twice, a sample of pairs, the regression worlds, random
/// worlds.
int run_ci(std::uint64_t hash, int files, char** paths) {
  constexpr std::uint64_t kEvery = 160;
  constexpr double kRandom = 5;
  const auto worlds = sim::singles();
  const sim::Battery battery{worlds.size(), [&](std::uint64_t i) { return worlds[i]; }};
  const sim::Result first = sim::run_battery(battery, processes());
  int code = print("singles", first, true);
  const sim::Result second = sim::run_battery(battery, 1 + processes());
  if (first.digest != second.digest) {
    std::printf("BROKEN the simulator is not deterministic: two runs of the single faults differ\n");
    code = kBroken;
  }
  code |= run_files(files, paths);
  code |= run_pairs(kEvery, hash % kEvery, true);
  code |= run_random(kRandom, hash % 1'000'000'000, true);
  return code;
}

int usage() {
  std::fputs(kHelp, stderr);
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  // Large buffers of a world are used again in the next one. By default malloc returns their pages to the kernel.
  ::mallopt(M_MMAP_THRESHOLD, 64 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
  // A shell starts background commands with some signals ignored; the launcher then leaves these signals alone.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2}) std::signal(signal, SIG_DFL);
  const std::string verb = argc > 1 ? argv[1] : "";
  const auto number = [&](int index, std::uint64_t otherwise) {
    return argc > index ? std::strtoull(argv[index], nullptr, 10) : otherwise;
  };
  try {
    if (verb == "--world" && argc == 3) return run_world(argv[2]);
    if (verb == "--shrink" && argc == 3) return run_shrink(argv[2]);
    if (verb == "--singles" && argc == 2) return run_singles(true);
    if (verb == "--pairs" && argc <= 4) return run_pairs(std::max<std::uint64_t>(1, number(2, 1)), number(3, 0), true);
    if (verb == "--random" && argc >= 3 && argc <= 4) return run_random(60 * std::atof(argv[2]), number(3, 1), true);
    if (verb == "--worlds" && argc >= 3) return run_files(argc - 2, argv + 2);
    if (verb == "--ci" && argc >= 3) return run_ci(number(2, 0), argc - 3, argv + 3);
    if (verb == "--bounds" && argc == 2) {
      std::fputs(sim::bounds_text({}).c_str(), stdout);
      return 0;
    }
    if (verb == "--sentences" && argc == 2) return sim::print_sentences();
    if (verb == "--count" && argc == 2) {
      std::printf("%zu single faults, %llu ordered pairs\n", sim::singles().size(),
                  static_cast<unsigned long long>(sim::pair_count()));
      return 0;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simulate: %s\n", error.what());
    return kUsage;
  }
  return usage();
}
