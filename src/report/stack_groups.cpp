#include "report/stack_groups.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "report/lines.h"

namespace dlaunch::report {
namespace {

using std::string_view;

constexpr std::size_t kInnermost = 18;      // of kMostFrames; the others are the outermost
constexpr std::size_t kLongestFrame = 200;  // bytes
constexpr std::size_t kMostRemarks = 5;
constexpr std::size_t kMostWaits = 3;

struct Group {
  std::string frames;
  std::vector<RankStack> ranks;
};

std::vector<Group> groups_of(const std::vector<RankStack>& ranks) {
  std::map<string_view, std::vector<RankStack>> by_frames;
  for (const RankStack& rank : ranks) by_frames[rank.frames].push_back(rank);
  std::vector<Group> groups;
  for (auto& [frames, members] : by_frames) groups.push_back({std::string(frames), std::move(members)});
  std::ranges::sort(groups, [](const Group& one, const Group& other) {
    return std::pair(one.ranks.size(), one.ranks.front().rank) <
           std::pair(other.ranks.size(), other.ranks.front().rank);
  });
  return groups;
}

string_view state_word(const RankStack& rank) {
  if (rank.traced) return "in a debugger";
  if (rank.stopped || rank.state == 'T') return "stopped";
  if (rank.state == 'D') return "waiting for storage";
  if (rank.state == 'R') return rank.in_call ? "polling" : "running";
  if (rank.state == 'Z') return "ending";
  return rank.state == 'S' || rank.state == 'I' ? "blocked" : "in an unknown state";
}

/// At most `most` different words, in the order of their first use.
std::string joined(const std::vector<std::string>& words, std::size_t most, string_view between) {
  std::vector<std::string> different;
  for (const std::string& word : words) {
    if (!word.empty() && std::ranges::find(different, word) == different.end()) different.push_back(word);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(most, different.size()); ++i)
    text += std::string(i > 0 ? between : "") + different[i];
  return text + (different.size() > most ? std::string(between) + "…" : "");
}

std::string percent(double share) { return formatted("%.1f", share); }

std::string cpu_text(const std::vector<RankStack>& ranks) {
  std::optional<std::pair<double, double>> range;
  for (const RankStack& rank : ranks) {
    if (!rank.cpu) continue;
    if (!range) range.emplace(*rank.cpu, *rank.cpu);
    range = {std::min(range->first, *rank.cpu), std::max(range->second, *rank.cpu)};
  }
  if (!range) return {};
  const std::string least = percent(range->first);
  const std::string most = percent(range->second);
  return (least == most ? most : least + "-" + most) + " % CPU";
}

std::string progress_text(const std::vector<RankStack>& ranks) {
  std::set<std::int64_t> numbers;
  for (const RankStack& rank : ranks) {
    if (rank.progress) numbers.insert(*rank.progress);
  }
  if (numbers.empty()) return {};
  const std::string least = std::to_string(*numbers.begin());
  return "progress " + least + (numbers.size() > 1 ? "-" + std::to_string(*numbers.rbegin()) : "");
}

std::string what_text(const std::vector<RankStack>& ranks) {
  std::vector<std::string> states;
  std::vector<std::string> waits;
  for (const RankStack& rank : ranks) {
    states.emplace_back(state_word(rank));
    waits.push_back(rank.wait);
  }
  std::string text = joined(states, kMostWaits, " or ");
  for (const std::string& more : {cpu_text(ranks), joined(waits, kMostWaits, " or "), progress_text(ranks)}) {
    if (!more.empty()) text += ", " + more;
  }
  return text;
}

std::set<int> ids(const std::vector<RankStack>& ranks) {
  std::set<int> ids;
  for (const RankStack& rank : ranks) ids.insert(rank.rank);
  return ids;
}

std::string shown(string_view text) {
  const std::string clean = escaped(text.substr(0, kLongestFrame));
  return text.size() > kLongestFrame ? clean + "…" : clean;
}

void add_line(std::string& text, std::size_t indent, string_view line) {
  text += std::string(indent, ' ') + shown(line) + '\n';
}

void add_frames(std::string& text, string_view frames) {
  const std::vector<std::string> all = split(trim(frames), '\n');
  if (trim(frames).empty()) return add_line(text, 6, "(no stack)");
  const std::size_t left_out = all.size() > kMostFrames ? all.size() - kMostFrames : 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (left_out > 0 && i == kInnermost) add_line(text, 6, "… " + count(left_out, "more frame") + " …");
    if (i < kInnermost || i >= kInnermost + left_out) add_line(text, 6, all[i]);
  }
}

void add_group(std::string& text, const Worlds& worlds, const Group& group) {
  std::string head = count(group.ranks.size(), "rank") + ": " + ranks_on_hosts(worlds, group.ranks);
  head += std::string(head.size() < 36 ? 38 - head.size() : 2, ' ');
  text += "  " + head + what_text(group.ranks) + '\n';
  add_frames(text, group.frames);
}

constexpr std::array<string_view, 8> kCollectives = {"allreduce", "allgather", "reducescatter", "alltoall",
                                                     "barrier",   "broadcast", "bcast",         "allgatherv"};

/// The first frame's function that is a collective operation; empty if there is none.
std::string collective_in(string_view frames) {
  for (const std::string& line : split(frames, '\n')) {
    for (const std::string& frame : split(line, '<')) {
      const std::string name(trim(string_view(frame).substr(0, frame.find(" ("))));
      std::string plain;
      for (const char c : name) {
        if (c != '_') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
      const bool known =
          std::ranges::any_of(kCollectives, [&](string_view word) { return plain.find(word) != std::string::npos; });
      if (known) return name;
    }
  }
  return {};
}

/// The innermost frame outside the C library, or else the first line.
std::string place_in(string_view frames) {
  const std::vector<std::string> lines = split(trim(frames), '\n');
  const auto is_a_programs = [](const std::string& line) {
    return line.ends_with(')') && line.find(" (libc.so.") == std::string::npos;
  };
  const auto found = std::ranges::find_if(lines, is_a_programs);
  return found == lines.end() ? lines.front() : *found;
}

/// The call in which the ranks of a group wait for others; empty if unknown.
std::string waiting_call(const Group& group) {
  if (const std::string collective = collective_in(group.frames); !collective.empty()) return collective;
  if (!group.ranks.front().in_call) return {};
  const string_view first = string_view(group.frames).substr(0, group.frames.find('\n'));
  return std::string(first.substr(0, first.find(" (")));
}

/// Describes a single rank with another stack than all others; empty without such a rank.
std::string odd_one_out(const Worlds& worlds, const std::vector<Group>& groups) {
  if (groups.size() != 2 || groups[0].ranks.size() != 1 || groups[1].ranks.size() < 2) return {};
  if (trim(groups[0].frames).empty() || trim(groups[1].frames).empty()) return {};
  const std::string one = "rank " + worlds.name(groups[0].ranks.front().rank) + " differs from all other ranks: ";
  const std::string where = waiting_call(groups[1]);
  const std::string own_call = waiting_call(groups[0]);
  if (!where.empty() && own_call.empty()) return one + "the other ranks wait in " + where + ", this rank does not";
  if (!where.empty() && own_call != where) return one + "this rank waits in " + own_call + ", the others in " + where;
  return one + "only this rank is in " + place_in(groups[0].frames);
}

void add_silent(std::string& text, const StackReport& report) {
  if (report.silent_hosts.empty()) return;
  std::string line = "no answer from " + fold_names(report.silent_hosts);
  if (!report.silent_ranks.empty()) {
    line += (report.silent_ranks.size() == 1 ? " (rank " : " (ranks ") + report.worlds.fold(report.silent_ranks) + ")";
  }
  add_line(text, 2, line);
}

}  // namespace

std::string ranks_on_hosts(const Worlds& worlds, const std::vector<RankStack>& ranks) {
  std::vector<std::string> hosts;
  for (const RankStack& rank : ranks) {
    if (std::ranges::find(hosts, rank.host) == hosts.end()) hosts.push_back(rank.host);
  }
  return worlds.fold(ids(ranks)) + " (" + shown(fold_names(hosts)) + ")";
}

std::string stacks_text(const StackReport& report) {
  std::string text = message("", report.title);
  const std::vector<Group> groups = groups_of(report.ranks);
  for (std::size_t i = 0; i < std::min(groups.size(), kMostGroups); ++i) add_group(text, report.worlds, groups[i]);
  if (groups.size() > kMostGroups) {
    std::vector<RankStack> rest;
    for (std::size_t i = kMostGroups; i < groups.size(); ++i) {
      rest.insert(rest.end(), groups[i].ranks.begin(), groups[i].ranks.end());
    }
    add_line(text, 2, count(groups.size() - kMostGroups, "more group") + ": ranks " + report.worlds.fold(ids(rest)));
  }
  add_silent(text, report);
  std::size_t remarks = 0;
  for (const std::string& remark : report.remarks) {
    if (++remarks <= kMostRemarks) add_line(text, 2, remark);
  }
  if (const std::string odd = odd_one_out(report.worlds, groups); !odd.empty()) add_line(text, 2, odd);
  if (!report.last.empty()) add_line(text, 2, report.last);
  return text;
}

}  // namespace dlaunch::report
