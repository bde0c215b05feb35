#include "hosts/fake_hosts.h"

#include "base/text.h"

namespace dlaunch::hosts {
namespace {

constexpr long kMostFakeHosts = 254;  // 127.0.0.1 to 127.0.0.254; each host has two processes of about 1 MB
constexpr const char* kFrom = "--fake-hosts";

}  // namespace

Result<std::vector<HostEntry>> parse_fake_hosts(std::string_view text) {
  const size_t cross = text.find('x');
  const auto hosts = parse_int(text.substr(0, cross), 1, kMostFakeHosts);
  const auto slots = cross == text.npos ? std::optional<long>(1) : parse_int(text.substr(cross + 1), 1, kMostSlots);
  if (!hosts || !slots) {
    return fail({.where = "",
                 .what = "invalid number of hosts \"" + std::string(text) + '"',
                 .why = "expected NxM such as 2x4, with 1 to " + std::to_string(kMostFakeHosts) + " hosts",
                 .hint = ""});
  }
  std::vector<HostEntry> entries;
  for (long number = 1; number <= *hosts; ++number) {
    HostEntry entry{.name = "fake" + std::to_string(number), .slots = static_cast<int>(*slots), .from = kFrom};
    entry.reach.address = "127.0.0." + std::to_string(number);
    entry.env = {std::string(kFakeHostVariable) + '=' + entry.name};
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string fake_host_command() { return "env " + std::string(kFakeHostVariable) + "={host}"; }

}  // namespace dlaunch::hosts
