#include "transport/ssh/config_settings.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"

namespace dlaunch::transport::ssh {
namespace {

using std::string;
using std::string_view;

/// Unsupported keywords that affect the connection to a host.
constexpr string_view kUnsupported[] = {
    "addkeystoagent", "bindaddress",   "bindinterface",       "checkhostip", "knownhostscommand",
    "pkcs11provider", "remotecommand", "securitykeyprovider", "sessiontype", "proxyusefdpass",
};

/// True if the value equals the default behaviour; then no note is needed.
bool is_default(const ConfigLine& line) {
  const string value = to_lower(line.words.front());
  return line.keyword == "addkeystoagent" || value == "none" || value == "no" || value == "false" ||
         value == "internal" || value == "default";
}

/// An ssh option with a list of algorithms, and its member.
struct AlgorithmOption {
  string_view keyword;
  AlgorithmKind kind;
  string Algorithms::* list;
};
constexpr AlgorithmOption kAlgorithmOptions[] = {
    {"ciphers", AlgorithmKind::ciphers, &Algorithms::ciphers},
    {"macs", AlgorithmKind::macs, &Algorithms::macs},
    {"kexalgorithms", AlgorithmKind::key_exchange, &Algorithms::key_exchange},
    {"hostkeyalgorithms", AlgorithmKind::host_keys, &Algorithms::host_keys},
    {"pubkeyacceptedalgorithms", AlgorithmKind::public_keys, &Algorithms::public_keys},
    {"pubkeyacceptedkeytypes", AlgorithmKind::public_keys, &Algorithms::public_keys},
};

constexpr int kLeastRsaBits = 1024;  // ssh's own minimum

class Taker {
 public:
  explicit Taker(HostSettings& into) : into_(into) {}

  Result<void> take(const ConfigLine& line) {
    const string& word = into_.is_answer ? line.rest : line.words.front();
    if (line.keyword == "hostname") return first(into_.host_name, word);
    if (line.keyword == "user") return set_user(word);
    if (line.keyword == "port") return number(line, into_.port, 65535);
    if (line.keyword == "identityfile") return add_identity(word);
    if (line.keyword == "identitiesonly") return yes_or_no(line, into_.identities_only);
    if (line.keyword == "identityagent") return first(into_.agent, word);
    if (line.keyword == "proxyjump") return set_jump(word);
    if (line.keyword == "proxycommand") return set_command(line.rest);
    if (line.keyword == "connecttimeout") return timeout(line);
    if (line.keyword == "stricthostkeychecking") return strictness(line);
    if (line.keyword == "userknownhostsfile") return first(into_.user_known, line.words);
    if (line.keyword == "globalknownhostsfile") return first(into_.global_known, line.words);
    if (line.keyword == "hostkeyalias") return first(into_.alias, word);
    if (line.keyword == "hashknownhosts") return yes_or_no(line, into_.hash_known);
    if (line.keyword == "addressfamily") return set_family(line);
    if (line.keyword == "certificatefile") return add_certificate(word);
    if (line.keyword == "revokedhostkeys") return first(into_.revoked, word);
    if (line.keyword == "pubkeyauthentication") return public_keys(line);
    if (line.keyword == "preferredauthentications") return first(into_.preferred, to_lower(word));
    if (line.keyword == "canonicalizehostname") return canonical(line);
    if (line.keyword == "rekeylimit") return rekey(line);
    if (line.keyword == "requiredrsasize") return rsa_bits(line);
    for (const AlgorithmOption& option : kAlgorithmOptions) {
      if (line.keyword == option.keyword) return algorithms(line, option);
    }
    if (std::ranges::find(kUnsupported, line.keyword) != std::end(kUnsupported) && !is_default(line)) {
      note(line);
    }
    return {};
  }

 private:
  template <class T>
  static Result<void> first(std::optional<T>& place, const T& value) {
    if (!place) place = value;
    return {};
  }

  Result<void> set_user(const string& word) {
    if (into_.user.empty()) into_.user = word;
    return {};
  }

  /// ProxyJump and ProxyCommand exclude each other: the first setting wins.
  Result<void> set_jump(const string& word) {
    if (into_.is_answer) into_.command.reset();  // ssh -G prints ProxyJump together with its command
    if (!into_.command) first(into_.jump, word);
    return {};
  }
  Result<void> set_command(const string& rest) {
    if (!into_.jump) first(into_.command, rest);
    return {};
  }

  Result<void> add_identity(const string& word) {
    if (std::ranges::find(into_.identities, word) == into_.identities.end()) into_.identities.push_back(word);
    return {};
  }

  Result<void> add_certificate(const string& word) {
    if (word != "none" && std::ranges::find(into_.certificates, word) == into_.certificates.end())
      into_.certificates.push_back(word);
    return {};
  }

  static Result<void> number(const ConfigLine& line, std::optional<int>& place, int most) {
    const auto value = parse_int(line.words.front(), 1, most);
    if (!value) return invalid(line, "1 to " + std::to_string(most));
    return first(place, static_cast<int>(*value));
  }

  Result<void> timeout(const ConfigLine& line) {
    if (line.words.front() == "none") return {};
    const auto seconds = parse_seconds(line.words.front());
    if (!seconds) return invalid(line, "a time, for example 30 or 1m30s");
    return first(into_.connect_timeout, *seconds);
  }

  Result<void> public_keys(const ConfigLine& line) {
    const string value = to_lower(line.words.front());
    return first(into_.public_keys, value != "no" && value != "false");
  }

  Result<void> canonical(const ConfigLine& line) {
    const string value = to_lower(line.words.front());
    return first(into_.canonical, value == "no" || value == "false" || value == "none" ? string() : line.where);
  }

  Result<void> algorithms(const ConfigLine& line, const AlgorithmOption& option) {
    string& list = into_.algorithms.*option.list;
    if (!list.empty()) return {};
    auto allowed = allowed_algorithms(option.kind, line.words.front());
    if (!allowed) {
      return fail(
          {line.where, line.keyword + " " + line.rest, allowed.error().why, allowed.error().hint, kExitRefused});
    }
    list = *std::move(allowed);
    return {};
  }

  Result<void> rekey(const ConfigLine& line) {
    const auto bytes = line.words.front() == "default" ? 0 : parse_size(line.words.front());
    if (!bytes) return invalid(line, "a size, for example 512M or 1G");
    if (*bytes > 0) first(into_.algorithms.rekey_bytes, *bytes);
    if (line.words.size() < 2 || line.words[1] == "none") return {};
    const auto seconds = parse_seconds(line.words[1]);
    if (!seconds) return invalid(line, "a time, for example 30 or 1m30s");
    return *seconds == 0 ? Result<void>() : first(into_.algorithms.rekey_seconds, static_cast<std::uint32_t>(*seconds));
  }

  Result<void> rsa_bits(const ConfigLine& line) {
    const auto bits = parse_int(line.words.front(), 0, 1 << 20);
    if (!bits) return invalid(line, "a number of bits");
    return first(into_.algorithms.least_rsa_bits, std::max(static_cast<int>(*bits), kLeastRsaBits));
  }

  static Result<void> yes_or_no(const ConfigLine& line, std::optional<bool>& place) {
    const string value = to_lower(line.words.front());
    if (value == "yes" || value == "true") return first(place, true);
    if (value == "no" || value == "false") return first(place, false);
    return invalid(line, "yes or no");
  }

  Result<void> strictness(const ConfigLine& line) {
    const string value = to_lower(line.words.front());
    if (value == "yes" || value == "true" || value == "ask") return first(into_.host_key, plan::HostKey::strict);
    if (value == "no" || value == "false" || value == "off") return first(into_.host_key, plan::HostKey::off);
    if (value == "accept-new") return first(into_.host_key, plan::HostKey::accept_new);
    return invalid(line, "yes, no, off, ask or accept-new");
  }

  Result<void> set_family(const ConfigLine& line) {
    const string value = to_lower(line.words.front());
    if (value == "any") return first(into_.family, AddressFamily::any);
    if (value == "inet") return first(into_.family, AddressFamily::inet);
    if (value == "inet6") return first(into_.family, AddressFamily::inet6);
    return invalid(line, "any, inet or inet6");
  }

  static tl::unexpected<Error> invalid(const ConfigLine& line, const string& expected) {
    return fail({line.where, "invalid " + line.keyword + " \"" + line.rest + '"', "expected " + expected,
                 "check ssh_config(5): ssh also refuses this line", kExitRefused});
  }

  void note(const ConfigLine& line) { into_.notes.insert(line.where + ": not supported: " + line.keyword); }

  HostSettings& into_;
};

constexpr int kLongest = 1'000'000;

/// The sorted keywords of OpenSSH 9.2, including keywords of only the portable release or only Debian's package.
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

Result<void> take_line(HostSettings& into, const ConfigLine& line) { return Taker(into).take(line); }

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
