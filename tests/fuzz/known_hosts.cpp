// Reads any text as a known_hosts file. Each key must have its place, every key must get a verdict, and lines written
// by dlaunch must be found again. The first line of the input is the host.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "transport/ssh/known_hosts.h"

namespace {

using namespace dlaunch::transport::ssh;
using Kind = KeyVerdict::Kind;

constexpr std::string_view kType = "ssh-ed25519";
constexpr std::string_view kKey = "AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const KnownHosts::Found& found) {
  for (const auto* keys : {&found.keys, &found.revoked}) {
    for (const KnownKey& key : *keys)
      require(key.line > 0 && key.file == "f" && dlaunch::from_base64(key.key).has_value());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(input.find('\n'), input.size());
  const std::string_view text = input.substr(std::min(line + 1, input.size()));
  KnownHosts known;
  known.add_file("f", text);
  for (const int port : {22, 2222}) {
    const KnownName name = known_name(input.substr(0, line), port, "");
    const KnownHost host = find_host(known, name);
    check(host.named);
    check(host.bare);
    const KeyVerdict verdict = judge(host, kType, kKey);
    const bool decided = verdict.kind == Kind::known || verdict.kind == Kind::changed || verdict.kind == Kind::revoked;
    require(decided == (verdict.line.line > 0));
    require(!preferred_algorithms(host, "").empty());
    // dlaunch writes only names of hosts without white space, commas, patterns or markers.
    if (name.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-[]:") != std::string::npos) continue;
    if (line == 0) continue;
    for (const char* salt : {"", "0123456789abcdefghij"}) {
      KnownHosts own;
      own.add_file("f", known_hosts_line(name, kType, kKey, salt));
      require(judge(find_host(own, name), kType, kKey).kind == Kind::known);
    }
  }
  return 0;
}
