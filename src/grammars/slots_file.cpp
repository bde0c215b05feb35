#include "grammars/slots_file.h"

#include <algorithm>

#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

Result<HostSlots> parse_slots_line(const TextLine& line) {
  const string_view text = trim(line.text);
  const size_t blank = std::min(text.find_first_of(" \t"), text.size());
  const string_view rest = trim(text.substr(blank));
  constexpr string_view kSlots = "slots=";
  const string_view number = rest.substr(std::min(kSlots.size(), rest.size()));
  const auto slots = parse_int(number.substr(0, number.find_first_not_of("0123456789")), 0, hosts::kMostSlots);
  std::string name(text.substr(0, blank));
  if (rest.starts_with(kSlots) && slots) return HostSlots{std::move(name), static_cast<int>(*slots)};
  return fail({.where = line.where,
               .what = "invalid line \"" + std::string(text) + '"',
               .why = "expected a host and its slots",
               .hint = "write " + name + " slots=8"});
}

}  // namespace

Result<std::vector<HostSlots>> parse_slots_file(string_view text, const std::string& path) {
  std::vector<HostSlots> hosts;
  for (const TextLine& line : lines_of(text, path)) {
    if (trim(line.text).empty() || trim(line.text).starts_with('#')) continue;
    auto host = TRY(parse_slots_line(line));
    if (std::ranges::find(hosts, host.name, &HostSlots::name) != hosts.end()) {
      return fail({.where = line.where,
                   .what = "duplicate host \"" + host.name + '"',
                   .why = "",
                   .hint = "remove one of the lines"});
    }
    hosts.push_back(std::move(host));
  }
  if (!hosts.empty()) return hosts;
  return fail({.where = path,
               .what = "missing host",
               .why = "the file has no host",
               .hint = "write one line per host: node1 slots=8"});
}

}  // namespace dlaunch::cli
