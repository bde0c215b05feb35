#include "transport/ssh/config.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "base/text.h"
#include "transport/ssh/config_file.h"
#include "transport/ssh/config_tokens.h"
#include "transport/ssh/pattern.h"

namespace dlaunch::transport::ssh {
namespace {

using std::string;
using std::string_view;

constexpr const char* kUsualIdentities[] = {"id_rsa", "id_ecdsa", "id_ed25519"};

/// Keywords that decide how a host is reached, and that nothing here heeds. Of the algorithms only those of the user's
/// own file are told: a distribution's policy stands in the machine's, for every host.
constexpr string_view kUnsupported[] = {
    "addkeystoagent",
    "bindaddress",
    "bindinterface",
    "canonicalizehostname",
    "certificatefile",
    "ciphers",
    "hostkeyalgorithms",
    "kexalgorithms",
    "knownhostscommand",
    "macs",
    "pkcs11provider",
    "preferredauthentications",
    "pubkeyacceptedalgorithms",
    "pubkeyacceptedkeytypes",
    "proxyusefdpass",
    "remotecommand",
    "requiredrsasize",
    "revokedhostkeys",
    "securitykeyprovider",
    "sessiontype",
};

bool names_algorithms(string_view keyword) {
  return keyword == "ciphers" || keyword == "macs" || keyword == "requiredrsasize" || keyword.ends_with("algorithms") ||
         keyword == "pubkeyacceptedkeytypes";
}

/// A value that is what happens anyhow needs no note.
bool is_of_no_account(const ConfigLine& line) {
  const string& keyword = line.keyword;
  const string value = to_lower(line.words.front());
  if (names_algorithms(keyword)) return line.where.starts_with("/etc/");
  if (keyword == "canonicalizehostname" || keyword == "proxyusefdpass" || keyword == "addkeystoagent") {
    return value == "no" || keyword == "addkeystoagent";
  }
  if (keyword == "preferredauthentications") return value.find("publickey") != string::npos;
  return value == "none" || (keyword == "sessiontype" && value == "default");
}

constexpr int kLongest = 1'000'000;

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

/// "90", "1m30s", "2H"; what is very long is cut.
std::optional<int> parse_seconds(string_view text) {
  std::int64_t sum = 0;
  if (text.empty()) return std::nullopt;
  const string lower = to_lower(text);
  for (string_view rest = lower; !rest.empty();) {
    const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    const auto number = parse_int(rest.substr(0, digits), 0, kLongest);
    const int unit = digits == rest.size() ? 1 : seconds_in(rest[digits]);
    if (!number || unit == 0) return std::nullopt;
    sum = std::min<std::int64_t>(sum + *number * unit, kLongest);
    rest.remove_prefix(std::min(digits + 1, rest.size()));
  }
  return static_cast<int>(sum);
}

tl::unexpected<Error> wrong(const ConfigLine& line, string why) {
  return fail(
      {line.where, line.keyword + " " + line.rest, std::move(why), "mend it; ssh would refuse it, too", kExitRefused});
}

/// One look at the configuration for one host; the first value that is said for anything wins.
class Resolution {
 public:
  Resolution(const string& host, const Said& said, const Surroundings& surroundings)
      : host_(host), surroundings_(surroundings) {
    user_ = said.user;
    port_ = said.port;
    if (!said.jump.empty()) jump_ = said.jump;
    if (!said.identity.empty()) identities_.push_back(said.identity);
  }

  Result<void> read(const ConfigFile& file, bool active) {
    const bool outer = active;
    for (const ConfigLine& line : file.lines) {
      if (line.keyword == "host") {
        active = outer && matches_patterns(host_, line.words);
      } else if (line.keyword == "match") {
        const auto matched = matches(line);
        if (!matched) return fail(matched.error());
        active = outer && *matched;
      } else if (line.keyword == "include") {
        for (const auto& included : line.included) {
          if (auto ok = read(*included, active); !ok) return ok;
        }
      } else if (active) {
        if (auto ok = take(line); !ok) return ok;
      }
    }
    return {};
  }

  HostConfig result() {
    HostConfig config;
    config.host_name = to_lower(host_name());
    config.user = user_.empty() ? surroundings_.user : user_;
    config.port = port_.value_or(22);
    config.family = family_.value_or(Family::any);
    config.identities_only = identities_only_.value_or(false);
    if (connect_timeout_.value_or(0) > 0) config.connect_timeout = connect_timeout_;  // 0: as if nobody had said any
    config.host_key = host_key_;
    config.host_key_alias = alias_.value_or("");
    config.hash_known_hosts = hash_known_.value_or(false);
    const Tokens tokens{host_, config, surroundings_};
    if (jump_ && to_lower(*jump_) != "none") config.proxy_jump = expand(*jump_, tokens);
    if (command_ && to_lower(*command_) != "none") config.proxy_command = expand(*command_, tokens);
    add_files(config, tokens);
    config.notes.assign(notes_.begin(), notes_.end());
    return config;
  }

 private:
  // ---- what a line means ----
  Result<void> take(const ConfigLine& line) {
    const string& word = line.words.front();
    if (line.keyword == "hostname") return first(host_name_, word);
    if (line.keyword == "user") return set_user(word);
    if (line.keyword == "port") return number(line, port_, 65535);
    if (line.keyword == "identityfile") return add_identity(word);
    if (line.keyword == "identitiesonly") return yes_or_no(line, identities_only_);
    if (line.keyword == "identityagent") return first(agent_, word);
    if (line.keyword == "proxyjump") return set_jump(word);
    if (line.keyword == "proxycommand") return set_command(line.rest);
    if (line.keyword == "connecttimeout") return timeout(line);
    if (line.keyword == "stricthostkeychecking") return strictness(line);
    if (line.keyword == "userknownhostsfile") return first(user_known_, line.words);
    if (line.keyword == "globalknownhostsfile") return first(global_known_, line.words);
    if (line.keyword == "hostkeyalias") return first(alias_, word);
    if (line.keyword == "hashknownhosts") return yes_or_no(line, hash_known_);
    if (line.keyword == "addressfamily") return set_family(line);
    if (std::ranges::find(kUnsupported, line.keyword) != std::end(kUnsupported) && !is_of_no_account(line)) {
      note(line, "is not supported");
    }
    return {};
  }

  template <class T>
  static Result<void> first(std::optional<T>& place, const T& value) {
    if (!place) place = value;
    return {};
  }

  Result<void> set_user(const string& word) {
    if (user_.empty()) user_ = word;
    return {};
  }

  /// ProxyJump and ProxyCommand shut each other out: whichever comes first.
  Result<void> set_jump(const string& word) {
    if (!command_) first(jump_, word);
    return {};
  }
  Result<void> set_command(const string& rest) {
    if (!jump_) first(command_, rest);
    return {};
  }

  Result<void> add_identity(const string& word) {
    if (std::ranges::find(identities_, word) == identities_.end()) identities_.push_back(word);
    return {};
  }

  static Result<void> number(const ConfigLine& line, std::optional<int>& place, int most) {
    const auto value = parse_int(line.words.front(), 1, most);
    if (!value) return wrong(line, "is no number from 1 to " + std::to_string(most));
    return first(place, static_cast<int>(*value));
  }

  Result<void> timeout(const ConfigLine& line) {
    if (line.words.front() == "none") return {};
    const auto seconds = parse_seconds(line.words.front());
    if (!seconds) return wrong(line, "is no time, as 30 or 1m30s");
    return first(connect_timeout_, *seconds);
  }

  static Result<void> yes_or_no(const ConfigLine& line, std::optional<bool>& place) {
    const string value = to_lower(line.words.front());
    if (value == "yes" || value == "true") return first(place, true);
    if (value == "no" || value == "false") return first(place, false);
    return wrong(line, "is neither yes nor no");
  }

  Result<void> strictness(const ConfigLine& line) {
    const string value = to_lower(line.words.front());
    if (value == "yes" || value == "true" || value == "ask") return first(host_key_, HostKey::strict);
    if (value == "no" || value == "false" || value == "off") return first(host_key_, HostKey::off);
    if (value == "accept-new") return first(host_key_, HostKey::accept_new);
    return wrong(line, "is none of yes, no, off, ask, accept-new");
  }

  Result<void> set_family(const ConfigLine& line) {
    const string value = to_lower(line.words.front());
    if (value == "any") return first(family_, Family::any);
    if (value == "inet") return first(family_, Family::ipv4);
    if (value == "inet6") return first(family_, Family::ipv6);
    return wrong(line, "is none of any, inet, inet6");
  }

  void note(const ConfigLine& line, const string& text) {
    notes_.insert(line.where + ": " + line.keyword + " " + text);
  }

  // ---- Match ----
  Result<bool> matches(const ConfigLine& line) {
    bool all = true;
    for (size_t i = 0; i < line.words.size(); ++i) {
      string criterion = to_lower(line.words[i]);
      const bool negated = criterion.starts_with('!');
      if (negated) criterion.erase(0, 1);
      string argument;
      if (const size_t equals = criterion.find('='); equals != string::npos) {
        argument = line.words[i].substr(equals + 1 + (negated ? 1 : 0));
        criterion.resize(equals);
      } else if (takes_argument(criterion)) {
        if (++i == line.words.size()) return wrong(line, criterion + " needs a value");
        argument = line.words[i];
      }
      const auto one = criterion_holds(line, criterion, argument);
      if (!one) return one;
      if (*one == negated) all = false;
    }
    return all;
  }

  static bool takes_argument(string_view criterion) {
    return criterion != "all" && criterion != "canonical" && criterion != "final";
  }

  Result<bool> criterion_holds(const ConfigLine& line, const string& criterion, const string& argument) {
    const auto patterns = split(argument, ',');
    if (criterion == "all") return true;
    if (criterion == "canonical") return false;
    if (criterion == "host") return matches_host(host_name(), argument);
    if (criterion == "originalhost") return matches_host(host_, argument);
    if (criterion == "user") return matches_patterns(user_.empty() ? surroundings_.user : user_, patterns);
    if (criterion == "localuser") return matches_patterns(surroundings_.user, patterns);
    if (criterion == "exec" || criterion == "final" || criterion == "localnetwork" || criterion == "tagged") {
      note(line, criterion + " is not supported, and taken as not matching");
      return false;
    }
    return wrong(line, "Match knows no " + criterion);
  }

  /// Here case does not count, in Host it does.
  static bool matches_host(const string& host, const string& patterns) {
    return matches_patterns(to_lower(host), split(to_lower(patterns), ','));
  }

  // ---- values with tokens ----
  string host_name() const { return host_name_ ? expand_host_name(*host_name_, host_) : host_; }

  string expand(const string& text, const Tokens& tokens) {
    Expanded expanded = expand_tokens(text, tokens);
    notes_.insert(expanded.notes.begin(), expanded.notes.end());
    return std::move(expanded.text);
  }

  string path(const string& text, const Tokens& tokens) {
    return expand(expand_variables(expand_home(text, surroundings_.home), surroundings_), tokens);
  }

  std::vector<string> paths(const std::vector<string>& texts, const Tokens& tokens) {
    std::vector<string> all;
    for (const string& text : texts) {
      if (text != "none") all.push_back(path(text, tokens));
    }
    return all;
  }

  void add_files(HostConfig& config, const Tokens& tokens) {
    const string ssh = surroundings_.home + "/.ssh/";
    config.identity_files_named = !identities_.empty();
    config.identity_files = paths(identities_, tokens);
    if (identities_.empty()) {
      for (const char* name : kUsualIdentities) config.identity_files.push_back(ssh + name);
    }
    if (agent_) {
      const bool is_word = *agent_ == "none" || *agent_ == "SSH_AUTH_SOCK" || agent_->starts_with('$');
      config.identity_agent = is_word ? expand_variables(*agent_, surroundings_) : path(*agent_, tokens);
    }
    config.user_known_hosts =
        user_known_ ? paths(*user_known_, tokens) : std::vector{ssh + "known_hosts", ssh + "known_hosts2"};
    config.global_known_hosts = global_known_
                                    ? paths(*global_known_, tokens)
                                    : std::vector<string>{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"};
  }

  const string& host_;
  const Surroundings& surroundings_;
  string user_;
  std::optional<int> port_;
  std::optional<string> host_name_;
  std::optional<string> jump_;
  std::optional<string> command_;
  std::optional<string> alias_;
  std::optional<string> agent_;
  std::optional<bool> identities_only_;
  std::optional<bool> hash_known_;
  std::optional<int> connect_timeout_;
  std::optional<HostKey> host_key_;
  std::optional<Family> family_;
  std::vector<string> identities_;
  std::optional<std::vector<string>> user_known_;
  std::optional<std::vector<string>> global_known_;
  std::set<string> notes_;
};

}  // namespace

std::vector<string> Config::usual_paths(const Surroundings& surroundings) {
  return {surroundings.home + "/.ssh/config", "/etc/ssh/ssh_config"};
}

Result<Config> Config::read(const std::vector<string>& paths, const Surroundings& surroundings) {
  Config config;
  for (const string& path : paths) {
    const bool machines = path.starts_with("/etc/ssh/");
    auto file = parse_config_file(path, machines ? "/etc/ssh" : surroundings.home + "/.ssh", surroundings);
    if (!file) return fail(file.error());
    config.files_.push_back(*std::move(file));
  }
  return config;
}

Result<HostConfig> Config::resolve(const string& host, const Said& said, const Surroundings& surroundings) const {
  Resolution resolution(host, said, surroundings);
  for (const auto& file : files_) {
    if (auto ok = resolution.read(*file, true); !ok) return fail(ok.error());
  }
  return resolution.result();
}

}  // namespace dlaunch::transport::ssh
