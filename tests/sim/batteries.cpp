#include "batteries.h"

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <string>

#include "world/faults.h"

namespace sim {
namespace {

using After = Moment::After;

/// A kind of fault with a length, as the batteries use it.
struct Variant {
  const char* kind;
  double seconds = 0;
};
using Variants = std::vector<Variant>;
const Variants kVariants = {
    {"silent"},      {"silent", 12},   {"silent", 30}, {"mute"},      {"deaf"},     {"cut"},       {"freeze"},
    {"freeze", 12},  {"freeze", 40},   {"stopw"},      {"stopw", 12}, {"killw"},    {"killg"},     {"killboth"},
    {"exit7"},       {"exit0"},        {"segv"},       {"hang", 20},  {"refuse"},   {"refuse1"},   {"slow"},
    {"int"},         {"term"},         {"usr1"},       {"mgr"},       {"pause", 9}, {"pause", 13}, {"pause", 60},
    {"pauseint", 6}, {"pauseexit", 6}, {"tstp", 30},   {"reader", 20}};
/// Kinds and lengths that fewer pairs have.
const Variants kFurther = {{"half"},  {"half", 8},    {"silent", 8}, {"stopw", 8}, {"flap", 40}, {"clock", 8},
                           {"exit2"}, {"nofork", 20}, {"abort"},     {"hup"},      {"termg"}};

const std::array kFirst = {Moment{After::start, 1'200'000}, Moment{After::start, 4 * kMs},
                           Moment{After::start, 2 * kSecond}};

const std::vector<Moment>& second_moments() {
  static const std::vector<Moment> moments = [] {
    std::vector<Moment> all;
    for (const Ns delay :
         {Ns{0}, 30 * kMs, kSecond, 4 * kSecond, 8 * kSecond, 13 * kSecond, 16'500 * kMs, 21 * kSecond}) {
      all.push_back({After::fault, delay});
    }
    for (const Ns delay : {Ns{0}, 30 * kMs, 3500 * kMs}) all.push_back({After::sent, delay, "Signal"});
    for (const Ns delay : {Ns{0}, 20 * kMs}) all.push_back({After::sent, delay, "Finish"});
    for (const Ns delay : {Ns{0}, 20 * kMs}) all.push_back({After::sent, delay, "Sweep"});
    for (const Ns delay : {Ns{0}, 500 * kMs, 10 * kSecond}) all.push_back({After::printed, delay, "; restart "});
    return all;
  }();
  return moments;
}

/// In worlds with spawned ranks, SIGSEGV is the fault of such a rank.
Fault fault_of(const Variant& variant, const Moment& moment, int host, bool spawned) {
  const std::string kind = variant.kind;
  return {moment, spawned && kind == "segv" ? "segvnew" : kind, host, static_cast<Ns>(variant.seconds * 1e9)};
}

bool is_of_host(const Variant& variant) {
  const auto of = kind_of({{}, variant.kind}).of;
  return of == FaultKind::Of::host || of == FaultKind::Of::rank || of == FaultKind::Of::login;
}

/// Two hosts at the most: the harmed one, and another one.
size_t second_hosts(const Variant& variant) { return is_of_host(variant) ? 2 : 1; }

size_t seconds_of_first(const Variants& seconds) {
  size_t count = 0;
  for (const Variant& variant : seconds) count += second_hosts(variant) * second_moments().size();
  return count;
}

}  // namespace

std::vector<Scenario> base_worlds() {
  std::vector<Scenario> worlds;
  for (const char* text : {
           "hosts=2 ranks=2 grace=3 length=60",
           "hosts=2 ranks=2 grace=3 timeout=12 length=60 deaf=2 daemon=0",
           "hosts=2 ranks=2 restarts=2 spares=1 grace=3 length=40 deaf=3 daemon=0 daemon=2",
           "hosts=3 ranks=1 restarts=1 spares=1 grace=1 length=30",
           "hosts=2 ranks=1 restarts=1 shrink=1 grace=3 length=40",
           "hosts=2 ranks=2 here=1 grace=5 length=30 daemon=1",
           "hosts=2 ranks=2 staged=1 restarts=1 spares=1 grace=3 length=20",
           "hosts=2 ranks=2 stdin=1 preempt=1 grace=3 length=30 deaf=3",
           "hosts=2 ranks=2 spawn=3 grace=3 length=30 deaf=5 daemon=4",
           "hosts=2 ranks=2 shell=1 restarts=1 grace=1 length=30 deaf=3 stuck=3",
       }) {
    worlds.push_back(parse_scenario(text));
  }
  return worlds;
}

/// Jobs with special rules, for single faults and a part of the pairs.
std::vector<Scenario> further_worlds() {
  std::vector<Scenario> worlds;
  for (const char* text : {
           "hosts=2 ranks=1 grace=3 afterfirst=4 length=20 deaf=1",
           "hosts=2 ranks=2 grace=3 length=20 deaf=3 daemon=1 daemon=2 writes=1",
           "hosts=2 ranks=1 restarts=4 spares=1 spawn=1 grace=1 length=20",
           "hosts=1 ranks=2 restarts=2 idle=1 spawn=2 grace=1 length=20",
       }) {
    worlds.push_back(parse_scenario(text));
  }
  return worlds;
}

static void add_singles(const Scenario& base, const Variants& variants, std::uint64_t& seed,
                        std::vector<Scenario>& all) {
  for (const Variant& variant : variants) {
    std::vector<Moment> moments(kFirst.begin(), kFirst.end());
    moments.push_back({After::start, 9 * kSecond});
    moments.push_back({After::start, base.length - 10 * kMs});
    for (const Moment& moment : moments) {
      Scenario world = base;
      world.seed = ++seed;
      world.faults.push_back(fault_of(variant, moment, 1, base.spawn > 0));
      all.push_back(std::move(world));
    }
  }
}

std::vector<Scenario> singles() {
  std::vector<Scenario> all;
  std::uint64_t seed = 0;
  for (const Scenario& base : base_worlds()) {
    all.push_back(base);
    add_singles(base, kVariants, seed, all);
  }
  for (const Scenario& base : base_worlds()) {
    add_singles(base, kFurther, seed, all);
    for (const Variant& variant : {Variant{"refuse"}, Variant{"refuse1"}, Variant{"slow"}}) {  // the first login
      Scenario world = base;
      world.seed = ++seed;
      world.faults.push_back(fault_of(variant, {After::start, 0}, 1, false));
      all.push_back(std::move(world));
    }
  }
  for (const Scenario& base : further_worlds()) {
    all.push_back(base);
    add_singles(base, kVariants, seed, all);
    add_singles(base, kFurther, seed, all);
  }
  return all;
}

namespace {

/// Pairs of each first with each second fault.
struct Block {
  std::vector<Scenario> bases;
  Variants firsts, seconds;

  std::uint64_t count() const { return bases.size() * firsts.size() * kFirst.size() * seconds_of_first(seconds); }
};

const std::vector<Block>& blocks() {
  static const std::vector<Block> all = [] {
    std::vector<Scenario> some = further_worlds();
    const auto bases = base_worlds();
    for (const size_t base : {0u, 2u, 4u, 8u}) some.push_back(bases[base]);
    return std::vector<Block>{{bases, kVariants, kVariants}, {some, kFurther, kVariants}, {some, kVariants, kFurther}};
  }();
  return all;
}

}  // namespace

std::uint64_t pair_count() {
  std::uint64_t count = 0;
  for (const Block& block : blocks()) count += block.count();
  return count;
}

Scenario pair(std::uint64_t number) {
  const std::uint64_t seed = number + 1;
  const Block* block = blocks().data();
  for (; number >= block->count(); ++block) number -= block->count();
  const auto take = [&](size_t of) {
    const size_t digit = number % of;
    number /= of;
    return digit;
  };
  size_t second = take(seconds_of_first(block->seconds));
  const Moment first_moment = kFirst[take(kFirst.size())];
  const Variant& first = block->firsts[take(block->firsts.size())];
  Scenario world = block->bases[take(block->bases.size())];
  world.seed = seed;
  world.faults.push_back(fault_of(first, first_moment, 1, world.spawn > 0));
  for (const Variant& variant : block->seconds) {
    const size_t of_variant = second_hosts(variant) * second_moments().size();
    if (second >= of_variant) {
      second -= of_variant;
      continue;
    }
    const int host = is_of_host(variant) ? static_cast<int>(second / second_moments().size()) : 1;
    world.faults.push_back(
        fault_of(variant, second_moments()[second % second_moments().size()], host, world.spawn > 0));
    break;
  }
  return world;
}

/// Spawned ranks, some with the properties and faults that the other ranks of random worlds have.
static void add_spawned(Scenario& s, const std::function<int(int)>& pick) {
  s.spawn = 1 + pick(4);
  const auto one = [&] { return s.all_ranks() + pick(s.spawn); };
  if (pick(3) == 0) s.deaf.insert(one());
  if (pick(3) == 0) s.daemons.insert(one());
  if (pick(12) == 0) s.stuck.insert(one());
  for (Fault& fault : s.faults) {
    if (fault.kind == "segv" || (fault.kind == "exit7" && pick(2))) fault.kind = "segvnew";
  }
}

/// Hosts for the spawned ranks, with some of the faults.
static void add_idle_hosts(Scenario& s, const std::function<int(int)>& pick) {
  s.idle = 1 + pick(2);
  for (Fault& fault : s.faults) {
    if (pick(3) == 0) fault.host = s.hosts + pick(s.idle);
  }
}

Scenario random_world(std::uint64_t seed) {
  std::mt19937_64 random(seed * 6364136223846793005ULL + 1);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  const auto one_of = [&](auto... values) {
    return std::array{values...}[static_cast<size_t>(pick(sizeof...(values)))];
  };
  Scenario s;
  s.seed = seed;
  s.hosts = 1 + pick(3);
  s.ranks = 1 + pick(2);
  s.restarts = pick(2) ? 1 + pick(3) : 0;
  s.spares = s.restarts > 0 ? pick(3) : 0;
  s.shrink = s.restarts > 0 && s.hosts > 1 && pick(4) == 0;
  s.here = pick(5) == 0;
  s.shell = seed % 4 == 0;
  s.loud = seed % 8 == 1;
  s.grace = one_of(0, 1, 3, 5, 20) * kSecond;
  s.length = one_of(1, 10, 40, 90) * kSecond;
  if (pick(4) == 0) s.timeout = (1 + pick(60)) * kSecond;
  if (pick(3) == 0) s.deaf.insert(pick(s.all_ranks()));
  if (pick(3) == 0) s.daemons.insert(pick(s.all_ranks()));
  if (pick(12) == 0) s.stuck.insert(pick(s.all_ranks()));
  const int faults = 1 + pick(4);
  for (int i = 0; i < faults; ++i) {
    const Variant& variant = kVariants[static_cast<size_t>(pick(static_cast<int>(kVariants.size())))];
    Fault fault = fault_of(variant, {}, pick(s.all_hosts()), false);
    if (fault.length > 0) fault.length = (1 + pick(40)) * kSecond;
    if (i > 0 && pick(3) == 0) {
      fault.moment = second_moments()[8 + static_cast<size_t>(pick(static_cast<int>(second_moments().size()) - 8))];
      fault.moment.delay = static_cast<Ns>(random() % static_cast<std::uint64_t>(pick(3) ? 8 * kSecond : 2 * kMs));
    } else if (i > 0 && pick(2)) {
      fault.moment = {After::fault,
                      static_cast<Ns>(random() % static_cast<std::uint64_t>(pick(3) ? 25 * kSecond : 50 * kMs))};
    } else {
      fault.moment = {After::start,
                      static_cast<Ns>(random() % static_cast<std::uint64_t>(pick(3) ? 20 * kSecond : 6 * kMs))};
    }
    s.faults.push_back(fault);
  }
  if (pick(8) == 0) add_spawned(s, pick);
  s.writes = pick(8) == 0;
  if (pick(12) == 0) s.after_first = (1 + pick(20)) * kSecond;
  if (pick(3) == 0) {
    Fault& further = s.faults[static_cast<size_t>(pick(faults))];
    const Variant& variant = kFurther[static_cast<size_t>(pick(static_cast<int>(kFurther.size())))];
    further = fault_of(variant, further.moment, further.host, false);
    if (further.length > 0) further.length = (1 + pick(40)) * kSecond;
  }
  if (s.spawn > 0 && s.spares == 0 && pick(2) == 0) add_idle_hosts(s, pick);
  return s;
}

}  // namespace sim
