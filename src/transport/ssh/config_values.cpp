#include "transport/ssh/config_values.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/text.h"
#include "transport/ssh/pattern.h"

namespace dlaunch::transport::ssh {
namespace {

constexpr int kLongest = 1'000'000;

/// The sorted keywords of OpenSSH 9.2, with those that only the portable release or Debian's package has.
constexpr std::string_view kKeywords[] = {
    "addkeystoagent",
    "addressfamily",
    "afstokenpassing",
    "batchmode",
    "bindaddress",
    "bindinterface",
    "canonicaldomains",
    "canonicalizefallbacklocal",
    "canonicalizehostname",
    "canonicalizemaxdots",
    "canonicalizepermittedcnames",
    "casignaturealgorithms",
    "certificatefile",
    "challengeresponseauthentication",
    "checkhostip",
    "cipher",
    "ciphers",
    "clearallforwardings",
    "compression",
    "compressionlevel",
    "connectionattempts",
    "connecttimeout",
    "controlmaster",
    "controlpath",
    "controlpersist",
    "dsaauthentication",
    "dynamicforward",
    "enableescapecommandline",
    "enablesshkeysign",
    "escapechar",
    "exitonforwardfailure",
    "fallbacktorsh",
    "fingerprinthash",
    "forkafterauthentication",
    "forwardagent",
    "forwardx11",
    "forwardx11timeout",
    "forwardx11trusted",
    "gatewayports",
    "globalknownhostsfile",
    "globalknownhostsfile2",
    "gssapiauthentication",
    "gssapiclientidentity",
    "gssapidelegatecredentials",
    "gssapikexalgorithms",
    "gssapikeyexchange",
    "gssapirenewalforcesrekey",
    "gssapiserveridentity",
    "gssapitrustdns",
    "hashknownhosts",
    "host",
    "hostbasedacceptedalgorithms",
    "hostbasedauthentication",
    "hostbasedkeytypes",
    "hostkeyalgorithms",
    "hostkeyalias",
    "hostname",
    "identitiesonly",
    "identityagent",
    "identityfile",
    "identityfile2",
    "ignoreunknown",
    "include",
    "ipqos",
    "kbdinteractiveauthentication",
    "kbdinteractivedevices",
    "keepalive",
    "kerberosauthentication",
    "kerberostgtpassing",
    "kexalgorithms",
    "knownhostscommand",
    "localcommand",
    "localforward",
    "loglevel",
    "logverbose",
    "macs",
    "match",
    "nohostauthenticationforlocalhost",
    "numberofpasswordprompts",
    "passwordauthentication",
    "permitlocalcommand",
    "permitremoteopen",
    "pkcs11provider",
    "port",
    "preferredauthentications",
    "protocol",
    "protocolkeepalives",
    "proxycommand",
    "proxyjump",
    "proxyusefdpass",
    "pubkeyacceptedalgorithms",
    "pubkeyacceptedkeytypes",
    "pubkeyauthentication",
    "rekeylimit",
    "remotecommand",
    "remoteforward",
    "requesttty",
    "requiredrsasize",
    "revokedhostkeys",
    "rhostsauthentication",
    "rhostsrsaauthentication",
    "rsaauthentication",
    "securitykeyprovider",
    "sendenv",
    "serveralivecountmax",
    "serveraliveinterval",
    "sessiontype",
    "setenv",
    "setuptimeout",
    "skeyauthentication",
    "smartcarddevice",
    "stdinnull",
    "streamlocalbindmask",
    "streamlocalbindunlink",
    "stricthostkeychecking",
    "syslogfacility",
    "tcpkeepalive",
    "tisauthentication",
    "tunnel",
    "tunneldevice",
    "updatehostkeys",
    "useprivilegedport",
    "user",
    "userknownhostsfile",
    "userknownhostsfile2",
    "useroaming",
    "usersh",
    "verifyhostkeydns",
    "visualhostkey",
    "xauthlocation",
};

constexpr int seconds_in(char unit) {
  switch (unit) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return 86400;
    case 'w':
      return 604800;
    default:
      return 0;
  }
}

}  // namespace

std::optional<int> parse_seconds(std::string_view text) {
  std::int64_t sum = 0;
  if (text.empty()) return std::nullopt;
  const std::string lower = to_lower(text);
  for (std::string_view rest = lower; !rest.empty();) {
    const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    const auto number = parse_int(rest.substr(0, digits), 0, kLongest);
    const int unit = digits == rest.size() ? 1 : seconds_in(rest[digits]);
    if (!number || unit == 0) return std::nullopt;
    sum = std::min<std::int64_t>(sum + *number * unit, kLongest);
    rest.remove_prefix(std::min(digits + 1, rest.size()));
  }
  return static_cast<int>(sum);
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::string_view kUnits = "BKMGT";
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_int(text.substr(0, digits), 0, std::numeric_limits<int>::max());
  const std::string unit = to_lower(text.substr(digits));
  if (!number || unit.size() > 1) return std::nullopt;
  if (unit.empty()) return static_cast<std::uint64_t>(*number);
  const size_t power = to_lower(kUnits).find(unit);
  if (power == std::string::npos) return std::nullopt;
  return static_cast<std::uint64_t>(*number) << (10 * power);
}

bool is_keyword(std::string_view word) { return std::ranges::binary_search(kKeywords, word); }

}  // namespace dlaunch::transport::ssh
