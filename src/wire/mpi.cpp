#include "wire/mpi.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dlaunch::wire {
namespace {

using Words = std::vector<std::string>;

void put(Words& all, std::vector<std::uint32_t>& counts, Words& some) {
  counts.push_back(static_cast<std::uint32_t>(some.size()));
  std::ranges::move(some, std::back_inserter(all));
}

/// Moves the next `count` words of `all`, starting at `from`, to `to`. Returns false if there are fewer words.
bool take(const Words& all, size_t& from, size_t count, Words& to) {
  if (count > all.size() - from) return false;
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
  to.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  from += count;
  return true;
}

}  // namespace

void add(SpawnAsk& ask, SpawnProgram program) {
  ask.ranks.push_back(program.ranks);
  ask.wdirs.push_back(std::move(program.wdir));
  put(ask.argv, ask.words, program.argv);
  put(ask.env, ask.set, program.env);
  put(ask.hosts, ask.named, program.hosts);
}

std::optional<std::vector<SpawnProgram>> programs(const SpawnAsk& ask) {
  for (const size_t size : {ask.words.size(), ask.set.size(), ask.named.size(), ask.wdirs.size()}) {
    if (size != ask.ranks.size()) return std::nullopt;
  }
  std::vector<SpawnProgram> programs(ask.ranks.size());
  size_t words = 0;
  size_t set = 0;
  size_t named = 0;
  for (size_t i = 0; i < programs.size(); ++i) {
    SpawnProgram& program = programs[i];
    program.ranks = ask.ranks[i];
    program.wdir = ask.wdirs[i];
    const bool there = take(ask.argv, words, ask.words[i], program.argv) &&
                       take(ask.env, set, ask.set[i], program.env) &&
                       take(ask.hosts, named, ask.named[i], program.hosts);
    if (!there) return std::nullopt;
  }
  if (words != ask.argv.size() || set != ask.env.size() || named != ask.hosts.size()) return std::nullopt;
  return programs;
}

}  // namespace dlaunch::wire
