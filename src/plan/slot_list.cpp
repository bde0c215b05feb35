#include "plan/slot_list.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/index_cast.h"
#include "base/text.h"
#include "base/try.h"

namespace dlaunch::plan {
namespace {

using Of = SlotRange::Of;
using Cpus = std::set<std::uint32_t>;

constexpr long kLast = (1L << 16) - 1;
constexpr size_t kMostLetters = 4096;  // dlaunch sends the text to the host unchanged

std::optional<std::pair<int, int>> parse_range(std::string_view word) {
  const size_t dash = word.find('-');
  const auto first = parse_int(word.substr(0, dash), 0, kLast);
  const auto last = dash == std::string_view::npos ? first : parse_int(word.substr(dash + 1), 0, kLast);
  if (!first || !last || *last < *first) return std::nullopt;
  return std::pair{static_cast<int>(*first), static_cast<int>(*last)};
}

/// Reads one word between commas. A word without a socket uses the socket of the word before.
class Words {
 public:
  bool take(std::string_view word) {
    if (word.starts_with('p') || word.starts_with('P')) {
      at_ = {.of = Of::threads};
      word.remove_prefix(1);
    } else if (!take_socket(word)) {
      return false;
    } else if (word.empty() || word == "*") {
      return at_.of == Of::socket && keep(0, kAllCores);
    }
    const auto range = parse_range(word);
    return range && keep(range->first, range->second);
  }

  std::vector<SlotRange> ranges;

 private:
  /// Removes `1:`, `s1:` or `s1` from the word.
  bool take_socket(std::string_view& word) {
    const bool marked = word.starts_with('s') || word.starts_with('S');
    const size_t colon = word.find(':');
    if (!marked && colon == std::string_view::npos) return true;
    const auto socket = parse_int(word.substr(marked ? 1 : 0, colon - (marked ? 1 : 0)), 0, kLast);
    if (!socket) return false;
    at_ = {.of = Of::socket, .socket = static_cast<int>(*socket)};
    const bool bare = colon == std::string_view::npos;
    word = bare ? "*" : word.substr(colon + 1);
    return !word.empty();
  }

  bool keep(int first, int last) {
    at_.first = first;
    at_.last = last;
    ranges.push_back(at_);
    return true;
  }

  SlotRange at_;
};

std::string numbers(const Cpus& cpus) { return fold_ints({cpus.begin(), cpus.end()}); }

/// Cores of a socket or of the host, each with its threads, in hardware order.
using Cores = std::vector<Cpus>;

Cores cores_of(const Topology& whole, std::optional<int> socket) {
  std::map<int, size_t> place_of_core;
  Cores cores;
  for (const Pu& pu : whole.pus) {
    if (socket && pu.socket != *socket) continue;
    const auto [at, is_new] = place_of_core.try_emplace(pu.core, cores.size());
    if (is_new) cores.emplace_back();
    cores[at->second].insert(pu.os_index);
  }
  return cores;
}

class Lookup {
 public:
  Lookup(const Topology& whole, const Cpus& allowed) : whole_(whole), allowed_(allowed) {}

  /// Adds the range to `found`, or returns the reason for an error.
  std::optional<std::string> add(const SlotRange& range) {
    if (range.of == Of::threads) return add_threads(range);
    const bool of_socket = range.of == Of::socket;
    const std::string where = of_socket ? " of socket " + std::to_string(range.socket) : "";
    const Cores cores = cores_of(whole_, of_socket ? std::optional(range.socket) : std::nullopt);
    if (cores.empty()) return "unknown socket \"" + std::to_string(range.socket) + "\": the host has " + sockets();
    const int last = range.last == kAllCores ? static_cast<int>(cores.size()) - 1 : range.last;
    if (static_cast<size_t>(last) >= cores.size()) {
      return "unknown core \"" + std::to_string(last) + "\"" + where + ": the " + (of_socket ? "socket" : "host") +
             " has " + count(cores.size(), "core");
    }
    for (int core = range.first; core <= last; ++core) {
      if (!take(at_index(cores, core))) return not_allowed("core " + std::to_string(core) + where);
    }
    return std::nullopt;
  }

  Cpus found;

 private:
  std::optional<std::string> add_threads(const SlotRange& range) {
    Cpus all;
    for (const Pu& pu : whole_.pus) all.insert(pu.os_index);
    for (int thread = range.first; thread <= range.last; ++thread) {
      const auto cpu = static_cast<std::uint32_t>(thread);
      if (!all.contains(cpu))
        return "unknown CPU \"" + std::to_string(thread) + "\": the host has CPUs " + numbers(all);
      if (!take({cpu})) return not_allowed("CPU " + std::to_string(thread));
    }
    return std::nullopt;
  }

  bool take(const Cpus& threads) {
    bool any = false;
    for (const std::uint32_t cpu : threads) {
      if (!allowed_.contains(cpu)) continue;
      any = true;
      found.insert(cpu);
    }
    return any;
  }

  std::string not_allowed(const std::string& thing) const {
    return thing + " is not allowed (allowed CPUs: " + (allowed_.empty() ? "none" : numbers(allowed_)) + ")";
  }

  std::string sockets() const {
    std::set<int> ids;
    for (const Pu& pu : whole_.pus) ids.insert(pu.socket);
    return count(ids.size(), "socket");
  }

  const Topology& whole_;
  const Cpus& allowed_;
};

}  // namespace

Result<std::vector<SlotRange>> parse_slot_list(std::string_view text) {
  if (text.size() > kMostLetters) {
    return fail({.where = {}, .what = "list of CPUs too long", .why = {}, .hint = "write ranges, such as 0-127"});
  }
  Words words;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find_first_of(",;", start), text.size());
    const std::string_view word = text.substr(start, end - start);
    if (!words.take(word)) {
      return fail({.where = {},
                   .what = "invalid CPU list \"" + std::string(text) + "\"",
                   .why = word == text ? "" : "invalid part \"" + std::string(word) + "\"",
                   .hint = "write 0-3 for cores, 1:0-2 for cores of socket 1, or * for all cores"});
    }
    start = end + 1;
  }
  return std::move(words.ranges);
}

Result<std::vector<std::uint32_t>> cpus_of_slots(const Topology& whole, const std::set<std::uint32_t>& allowed,
                                                 std::string_view slots) {
  const auto ranges = TRY(parse_slot_list(slots));
  Lookup lookup(whole, allowed);
  for (const SlotRange& range : ranges) {
    if (auto why = lookup.add(range)) {
      return fail({.where = {},
                   .what = "cannot bind the rank to slot=" + std::string(slots),
                   .why = *std::move(why),
                   .hint = "check --cpu-list, or the line of the rankfile"});
    }
  }
  return std::vector<std::uint32_t>(lookup.found.begin(), lookup.found.end());
}

}  // namespace dlaunch::plan
