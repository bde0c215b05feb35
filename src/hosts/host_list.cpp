#include "dlaunch/hostfile.h"

#include "base/text.h"
#include "base/try.h"
#include "hosts/host_name.h"

namespace dlaunch::hosts {
namespace {

Result<void> set_slots(const HostWord& word, std::string_view item, HostEntry& entry) {
  if (!word.has_count) {
    entry.slots = 1;
    return {};
  }
  if (word.count == "*" || word.count == "auto" || word.count == "-1") {
    entry.slots_automatic = true;
    return {};
  }
  if (const auto slots = parse_int(word.count, 0, kMostSlots)) {
    entry.slots = static_cast<int>(*slots);
    return {};
  }
  return fail({.where = "",
               .what = "invalid number of slots \"" + std::string(item) + '"',
               .why = "expected node1:8, or node1:* for one slot per CPU",
               .hint = "set a port with port= in a hostfile"});
}

}  // namespace

Result<std::vector<HostEntry>> parse_host_list(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return fail({.where = "", .what = "invalid host list: unexpected NUL byte", .why = "", .hint = ""});
  }
  std::vector<HostEntry> entries;
  for (const std::string& part : split_outside_brackets(text, ',')) {
    const std::string_view item = trim(part);
    if (item.empty()) {
      return fail({.where = "",
                   .what = trim(text).empty() ? "missing host" : "missing host before or after a comma",
                   .why = "",
                   .hint = "write hosts with commas: node1:8,node2:8"});
    }
    const auto word = TRY(parse_host_word(item));
    HostEntry entry;
    entry.from = "-H";
    entry.reach.user = word.user;
    TRY(set_slots(word, item, entry));
    if (entries.size() + word.names.size() > kMostHosts) {
      return fail(
          {.where = "", .what = "too many hosts: the limit is " + std::to_string(kMostHosts), .why = "", .hint = ""});
    }
    for (const std::string& name : word.names) {
      entries.push_back(entry);
      entries.back().name = name;
    }
  }
  return entries;
}

}  // namespace dlaunch::hosts
