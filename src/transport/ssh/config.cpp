#include "transport/ssh/config.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "base/text.h"
#include "transport/ssh/config_file.h"
#include "transport/ssh/config_match.h"
#include "transport/ssh/config_tokens.h"
#include "transport/ssh/config_values.h"
#include "transport/ssh/pattern.h"

namespace dlaunch::transport::ssh {
namespace {

using std::string;
using std::string_view;

constexpr const char* kUsualIdentities[] = {"id_rsa", "id_ecdsa", "id_ed25519"};
constexpr string_view kUsualPlace = "~/.ssh/";
constexpr string_view kUsualToSsh[] = {"id_rsa",        "id_ecdsa", "id_ecdsa_sk", "id_ed25519",
                                       "id_ed25519_sk", "id_xmss",  "id_dsa"};

/// Keywords that decide how a host is reached, and that nothing here heeds.
constexpr string_view kUnsupported[] = {
    "addkeystoagent", "bindaddress",   "bindinterface",       "checkhostip", "knownhostscommand",
    "pkcs11provider", "remotecommand", "securitykeyprovider", "sessiontype", "proxyusefdpass",
};

/// A value that is what happens anyhow needs no note.
bool is_of_no_account(const ConfigLine& line) {
  const string value = to_lower(line.words.front());
  return line.keyword == "addkeystoagent" || value == "none" || value == "no" || value == "false" ||
         value == "internal" || value == "default";
}

/// An option of ssh's that names a list of algorithms, and where it goes.
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

constexpr int kLeastRsaBits = 1024;  // ssh's own floor

/// One look at the configuration for one host; the first value that is said for anything wins.
class Resolution {
 public:
  Resolution(const string& host, const Said& said, const Surroundings& surroundings, bool is_answer)
      : host_(host), surroundings_(surroundings), is_answer_(is_answer), user_(said.user), port_(said.port) {
    if (!said.jump.empty()) jump_ = said.jump;
    if (!said.identity.empty()) identities_.push_back(said.identity);
    verdicts_ = said.user + '\n' + (said.port ? std::to_string(*said.port) : "") + '\n';
  }

  Result<void> read_all(const std::vector<std::shared_ptr<const ConfigFile>>& files) {
    for (const auto& file : files) {
      if (auto ok = read(*file, Holds::yes); !ok) return ok;
    }
    return {};
  }

  /// `Match final` was met: all is to be read once more, as ssh does with the name that came out of the first time.
  bool begin_final_pass() {
    if (!wants_final_pass_ || final_pass_) return false;
    host_name_ = host_name();
    host_name_is_settled_ = final_pass_ = true;
    return true;
  }

  Result<HostConfig> result() {
    HostConfig config;
    config.host_name = to_lower(host_name());
    config.user = user_.empty() ? surroundings_.user : user_;
    config.port = port_.value_or(22);
    config.family = family_.value_or(Family::any);
    config.identities_only = identities_only_.value_or(false);
    config.public_keys =
        public_keys_.value_or(true) && preferred_.value_or("publickey").find("publickey") != string::npos;
    if (connect_timeout_.value_or(0) > 0) config.connect_timeout = connect_timeout_;  // 0: as if nobody had said any
    config.host_key = host_key_;
    config.host_key_alias = alias_.value_or("");
    config.hash_known_hosts = hash_known_.value_or(false);
    config.algorithms = algorithms_;
    const Tokens tokens{host_, config, surroundings_};
    if (jump_ && to_lower(*jump_) != "none") config.proxy_jump = expand(*jump_, tokens);
    if (command_ && to_lower(*command_) != "none") config.proxy_command = expand(*command_, tokens);
    add_files(config, tokens);
    if (!unknown_token_.empty()) {
      return fail({"the ssh configuration", unknown_token_, "has a token or variable without a meaning here",
                   "ssh would refuse it, too, or use --exec 'ssh -T {host}'", kExitRefused});
    }
    config.notes.assign(notes_.begin(), notes_.end());
    config.unread.what.assign(unread_.begin(), unread_.end());
    if (!host_specific_) config.unread.shared = verdicts_;
    return config;
  }

 private:
  // ---- which lines hold ----
  Result<void> read(const ConfigFile& file, Holds outer) {
    Holds active = outer;
    for (const ConfigLine& line : file.lines) {
      if (!is_answer_ && !is_keyword(line.keyword)) only_ssh_knows(line, line.keyword);
      if (line.keyword == "host" || line.keyword == "match") {
        const auto holds = line.keyword == "host" ? host_line(line) : match(line, outer);
        if (!holds) return fail(holds.error());
        active = std::min(outer, *holds);
        verdicts_ += static_cast<char>('0' + static_cast<int>(active));
      } else if (line.keyword == "include") {
        for (const auto& included : line.included) {
          if (auto ok = read(*included, active); !ok) return ok;
        }
      } else if (active == Holds::yes) {
        if (auto ok = take(line); !ok) return ok;
      }
      host_specific_ = host_specific_ || (active != Holds::no && line.keyword == "hostname");
    }
    return {};
  }

  Result<Holds> host_line(const ConfigLine& line) const {
    return matches_patterns(host_, line.words) ? Holds::yes : Holds::no;
  }

  Result<Holds> match(const ConfigLine& line, Holds outer) {
    const auto verdict = match_line(
        line, {host_name(), host_, user_.empty() ? surroundings_.user : user_, surroundings_.user, final_pass_});
    if (!verdict) return fail(verdict.error());
    wants_final_pass_ = wants_final_pass_ || verdict->wants_final_pass;
    if (verdict->holds == Holds::unknown && outer != Holds::no) {
      only_ssh_knows(line, "match " + verdict->unknown);
      host_specific_ = host_specific_ || verdict->host_specific;
    }
    return verdict->holds;
  }

  void only_ssh_knows(const ConfigLine& line, const string& what) { unread_.insert(line.where + ": " + what); }

  // ---- what a line means ----
  Result<void> take(const ConfigLine& line) {
    const string& word = is_answer_ ? line.rest : line.words.front();
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
    if (line.keyword == "certificatefile") return add_certificate(word);
    if (line.keyword == "revokedhostkeys") return first(revoked_, word);
    if (line.keyword == "pubkeyauthentication") return public_keys(line);
    if (line.keyword == "preferredauthentications") return first(preferred_, to_lower(word));
    if (line.keyword == "canonicalizehostname") return canonical(line);
    if (line.keyword == "rekeylimit") return rekey(line);
    if (line.keyword == "requiredrsasize") return rsa_bits(line);
    for (const AlgorithmOption& option : kAlgorithmOptions) {
      if (line.keyword == option.keyword) return algorithms(line, option);
    }
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
    if (is_answer_) command_.reset();  // ssh names the command that it jumps with, too
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

  Result<void> add_certificate(const string& word) {
    if (word != "none" && std::ranges::find(certificates_, word) == certificates_.end()) certificates_.push_back(word);
    return {};
  }

  static Result<void> number(const ConfigLine& line, std::optional<int>& place, int most) {
    const auto value = parse_int(line.words.front(), 1, most);
    if (!value) return wrong_line(line, "is no number from 1 to " + std::to_string(most));
    return first(place, static_cast<int>(*value));
  }

  Result<void> timeout(const ConfigLine& line) {
    if (line.words.front() == "none") return {};
    const auto seconds = parse_seconds(line.words.front());
    if (!seconds) return wrong_line(line, "is no time, as 30 or 1m30s");
    return first(connect_timeout_, *seconds);
  }

  Result<void> public_keys(const ConfigLine& line) {
    const string value = to_lower(line.words.front());
    return first(public_keys_, value != "no" && value != "false");
  }

  Result<void> canonical(const ConfigLine& line) {
    const string value = to_lower(line.words.front());
    if (!canonical_ && !is_answer_ && value != "no" && value != "false" && value != "none") {
      only_ssh_knows(line, line.keyword);
      host_specific_ = true;
    }
    return first(canonical_, value);
  }

  Result<void> algorithms(const ConfigLine& line, const AlgorithmOption& option) {
    string& list = algorithms_.*option.list;
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
    if (!bytes) return wrong_line(line, "is no size, as 512M or 1G");
    if (*bytes > 0) first(algorithms_.rekey_bytes, *bytes);
    if (line.words.size() < 2 || line.words[1] == "none") return {};
    const auto seconds = parse_seconds(line.words[1]);
    if (!seconds) return wrong_line(line, "is no time, as 30 or 1m30s");
    return *seconds == 0 ? Result<void>() : first(algorithms_.rekey_seconds, static_cast<std::uint32_t>(*seconds));
  }

  Result<void> rsa_bits(const ConfigLine& line) {
    const auto bits = parse_int(line.words.front(), 0, 1 << 20);
    if (!bits) return wrong_line(line, "is no number of bits");
    return first(algorithms_.least_rsa_bits, std::max(static_cast<int>(*bits), kLeastRsaBits));
  }

  static Result<void> yes_or_no(const ConfigLine& line, std::optional<bool>& place) {
    const string value = to_lower(line.words.front());
    if (value == "yes" || value == "true") return first(place, true);
    if (value == "no" || value == "false") return first(place, false);
    return wrong_line(line, "is neither yes nor no");
  }

  Result<void> strictness(const ConfigLine& line) {
    const string value = to_lower(line.words.front());
    if (value == "yes" || value == "true" || value == "ask") return first(host_key_, HostKey::strict);
    if (value == "no" || value == "false" || value == "off") return first(host_key_, HostKey::off);
    if (value == "accept-new") return first(host_key_, HostKey::accept_new);
    return wrong_line(line, "is none of yes, no, off, ask, accept-new");
  }

  Result<void> set_family(const ConfigLine& line) {
    const string value = to_lower(line.words.front());
    if (value == "any") return first(family_, Family::any);
    if (value == "inet") return first(family_, Family::ipv4);
    if (value == "inet6") return first(family_, Family::ipv6);
    return wrong_line(line, "is none of any, inet, inet6");
  }

  void note(const ConfigLine& line, const string& text) {
    notes_.insert(line.where + ": " + line.keyword + " " + text);
  }

  // ---- values with tokens ----
  string host_name() const {
    if (!host_name_) return host_;
    return host_name_is_settled_ || is_answer_ ? *host_name_ : expand_host_name(*host_name_, host_);
  }

  string expand(const string& text, const Tokens& tokens) {
    const auto expanded = expand_tokens(text, tokens);
    if (!expanded) unknown_token_ = text;
    return expanded.value_or(text);
  }

  string path(const string& text, const Tokens& tokens) {
    const auto known = expand_variables(expand_home(text, surroundings_.home), surroundings_);
    if (!known) unknown_token_ = text;
    return expand(known.value_or(""), tokens);
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
    config.identity_files_named = std::ranges::any_of(identities_, [&](const string& file) { return is_named(file); });
    config.identity_files = paths(identities_, tokens);
    if (identities_.empty()) {
      for (const char* name : kUsualIdentities) config.identity_files.push_back(ssh + name);
    }
    config.certificate_files = paths(certificates_, tokens);
    if (revoked_ && to_lower(*revoked_) != "none") config.revoked_host_keys = path(*revoked_, tokens);
    if (agent_) {
      const bool is_word = *agent_ == "none" || *agent_ == "SSH_AUTH_SOCK" || agent_->starts_with('$');
      config.identity_agent = is_word ? expand_variables(*agent_, surroundings_).value_or("") : path(*agent_, tokens);
    }
    config.user_known_hosts =
        user_known_ ? paths(*user_known_, tokens) : std::vector{ssh + "known_hosts", ssh + "known_hosts2"};
    config.global_known_hosts = global_known_
                                    ? paths(*global_known_, tokens)
                                    : std::vector<string>{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"};
  }

  /// ssh's answer names the usual ones, too.
  bool is_named(const string& file) const {
    return !is_answer_ || !file.starts_with(kUsualPlace) ||
           std::ranges::find(kUsualToSsh, string_view(file).substr(kUsualPlace.size())) == std::end(kUsualToSsh);
  }

  const string& host_;
  const Surroundings& surroundings_;
  const bool is_answer_;
  bool final_pass_ = false;
  bool wants_final_pass_ = false;
  bool host_name_is_settled_ = false;
  std::set<string> unread_;
  bool host_specific_ = false;  // what is unread
  string verdicts_;             // of all conditions: hosts with the same ones share what ssh says of them
  string unknown_token_;
  Algorithms algorithms_;
  string user_;
  std::optional<int> port_;
  std::optional<string> host_name_;
  std::optional<string> jump_;
  std::optional<string> command_;
  std::optional<string> alias_;
  std::optional<string> agent_;
  std::optional<string> revoked_;
  std::optional<string> preferred_;
  std::optional<string> canonical_;
  std::optional<bool> public_keys_;
  std::optional<bool> identities_only_;
  std::optional<bool> hash_known_;
  std::optional<int> connect_timeout_;
  std::optional<HostKey> host_key_;
  std::optional<Family> family_;
  std::vector<string> identities_;
  std::vector<string> certificates_;
  std::optional<std::vector<string>> user_known_;
  std::optional<std::vector<string>> global_known_;
  std::set<string> notes_;
};

}  // namespace

std::vector<ConfigPath> Config::usual_paths(const Surroundings& surroundings) {
  return {{surroundings.home + "/.ssh/config", true}, {"/etc/ssh/ssh_config", false}};
}

Result<Config> Config::read(const std::vector<ConfigPath>& paths, const Surroundings& surroundings) {
  Config config;
  for (const ConfigPath& path : paths) {
    auto file = parse_config_file(path, surroundings, config.doubtful_);
    if (!file) return fail(file.error());
    config.files_.push_back(*std::move(file));
  }
  return config;
}

Config Config::of_answer(string_view text, bool shared) {
  Config config;
  config.files_.push_back(parse_config_answer(text, shared));
  config.is_answer_ = true;
  return config;
}

Result<HostConfig> Config::resolve(const string& host, const Said& said, const Surroundings& surroundings) const {
  Resolution resolution(host, said, surroundings, is_answer_);
  do {
    if (auto ok = resolution.read_all(files_); !ok) return fail(ok.error());
  } while (resolution.begin_final_pass());
  auto config = resolution.result();
  if (!config || doubtful_.empty()) return config;
  for (const string& path : doubtful_) config->unread.what.push_back(path + ": its group may write it");
  config->unread.refusal = bad_permissions(doubtful_.front());
  return config;
}

}  // namespace dlaunch::transport::ssh
