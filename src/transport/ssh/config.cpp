#include "transport/ssh/config.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "base/try.h"
#include "transport/ssh/config_file.h"
#include "transport/ssh/config_settings.h"

namespace dlaunch::transport::ssh {
namespace {

using std::string;
using std::string_view;

/// `unknown`: only ssh can evaluate the condition.
enum class Holds { no, unknown, yes };

/// The host to compare with a line.
struct MatchSubject {
  std::string host;  ///< its HostName, if set so far
  std::string original_host;
  std::string user;
  std::string local_user;
  bool final_pass = false;  ///< true in the second pass, requested by `Match final`
};

struct MatchVerdict {
  Holds holds = Holds::yes;
  bool wants_final_pass = false;
  std::string unknown = {};    ///< the criterion that only ssh can evaluate
  bool host_specific = false;  ///< ssh's result may differ between hosts
};

/// Criteria of OpenSSH, including releases after 9.2, that only ssh can evaluate.
constexpr string_view kOnlyForSsh[] = {"exec", "localnetwork", "tagged", "command", "sessiontype", "version"};

struct Criterion {
  string name;
  bool negated = false;
  string argument;
};

bool takes_argument(string_view name) { return name != "all" && name != "canonical" && name != "final"; }

/// Parses "user ann", "user=ann" or "!user ann", and advances `at` past the criterion.
Result<Criterion> next_criterion(const ConfigLine& line, size_t& at) {
  const string& word = line.words[at++];
  Criterion criterion{.name = {}, .negated = word.starts_with('!'), .argument = {}};
  const size_t from = criterion.negated ? 1 : 0;
  const size_t equals = word.find('=');
  criterion.name = to_lower(string_view(word).substr(from, equals == string::npos ? equals : equals - from));
  if (equals != string::npos) {
    criterion.argument = word.substr(equals + 1);
  } else if (takes_argument(criterion.name)) {
    if (at == line.words.size()) return wrong_line(line, "missing value of " + criterion.name);
    criterion.argument = line.words[at++];
  }
  return criterion;
}

/// Ignores case, unlike Host.
bool matches_host(const string& host, const string& patterns) {
  return matches_patterns(to_lower(host), split(to_lower(patterns), ','));
}

Holds holds_if(bool condition) { return condition ? Holds::yes : Holds::no; }

Result<Holds> evaluate(const ConfigLine& line, const Criterion& criterion, const MatchSubject& subject) {
  const auto& [name, negated, argument] = criterion;
  if (name == "all") return Holds::yes;
  if (name == "canonical" || name == "final") return holds_if(subject.final_pass);
  if (name == "host") return holds_if(matches_host(subject.host, argument));
  if (name == "originalhost") return holds_if(matches_host(subject.original_host, argument));
  if (name == "user") return holds_if(matches_patterns(subject.user, split(argument, ',')));
  if (name == "localuser") return holds_if(matches_patterns(subject.local_user, split(argument, ',')));
  if (std::ranges::find(kOnlyForSsh, name) != std::end(kOnlyForSsh)) return Holds::unknown;
  return wrong_line(line, "unknown criterion \"" + name + '"');
}

Holds opposite(Holds holds) {
  if (holds == Holds::unknown) return holds;
  return holds_if(holds == Holds::no);
}

bool names_the_host(string_view command) {
  return std::ranges::any_of(std::initializer_list<string_view>{"%h", "%n", "%k", "%C", "%j"},
                             [&](string_view token) { return command.find(token) != string_view::npos; });
}

Result<MatchVerdict> match_line(const ConfigLine& line, const MatchSubject& subject) {
  MatchVerdict verdict;
  for (size_t at = 0; at < line.words.size();) {
    const auto criterion = TRY(next_criterion(line, at));
    auto one = TRY(evaluate(line, criterion, subject));
    if (criterion.negated) one = opposite(one);
    if (one == Holds::unknown) {
      verdict.unknown = criterion.name;
      verdict.host_specific = verdict.host_specific || names_the_host(criterion.argument);
    }
    verdict.wants_final_pass = verdict.wants_final_pass || criterion.name == "final";
    verdict.holds = std::min(verdict.holds, one);
  }
  return verdict;
}

/// The values of tokens; the references must outlive the struct.
struct Tokens {
  const string& host;        ///< as the user wrote the name
  const HostConfig& config;  ///< HostName, User, Port, ProxyJump and HostKeyAlias must be set
  const SshContext& context;
};

std::optional<string> value_of(char letter, const Tokens& tokens) {
  const HostConfig& config = tokens.config;
  const SshContext& here = tokens.context;
  switch (letter) {
    case '%':
      return "%";
    case 'C':  // the hash of the jump depends on ssh's version
      if (!config.proxy_jump.empty()) return std::nullopt;
      return to_hex(bytes_of(sha1(here.host_name + config.host_name + std::to_string(config.port) + config.user)));
    case 'd':
      return here.home;
    case 'h':
      return config.host_name;
    case 'i':
      return std::to_string(here.user_id);
    case 'j':
      return config.proxy_jump;
    case 'k':
      return config.host_key_alias.empty() ? tokens.host : config.host_key_alias;
    case 'l':
      return here.host_name;
    case 'L':
      return here.host_name.substr(0, here.host_name.find('.'));
    case 'n':
      return tokens.host;
    case 'p':
      return std::to_string(config.port);
    case 'r':
      return config.user;
    case 'u':
      return here.user;
    default:
      return std::nullopt;
  }
}

/// Returns nullopt for an unknown token.
std::optional<string> expand_tokens(std::string_view text, const Tokens& tokens) {
  string expanded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      expanded += text[i];
      continue;
    }
    const auto value = ++i < text.size() ? value_of(text[i], tokens) : std::nullopt;
    if (!value) return std::nullopt;
    expanded += *value;
  }
  return expanded;
}

/// Expands a HostName, in which only %h and %% are valid.
string expand_host_name(std::string_view text, const string& host) {
  string name;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] == '%' && (next == 'h' || next == '%')) {
      name += next == 'h' ? host : "%";
      ++i;
    } else {
      name += text[i];
    }
  }
  return name;
}

/// Expands ${NAME}; nullopt if a variable is not set.
std::optional<string> expand_variables(string text, const SshContext& context) {
  for (size_t at = 0; (at = text.find("${", at)) != string::npos;) {
    const size_t end = text.find('}', at);
    if (end == string::npos) break;
    const auto value = context.variable(text.substr(at + 2, end - at - 2));
    if (!value) return std::nullopt;
    text.replace(at, end + 1 - at, *value);
    at += value->size();
  }
  return text;
}

constexpr const char* kUsualIdentities[] = {"id_rsa", "id_ecdsa", "id_ed25519"};
constexpr string_view kUsualPlace = "~/.ssh/";
constexpr string_view kUsualToSsh[] = {"id_rsa",        "id_ecdsa", "id_ecdsa_sk", "id_ed25519",
                                       "id_ed25519_sk", "id_xmss",  "id_dsa"};

/// Resolves the settings of one host.
class Resolution {
 public:
  Resolution(const string& host, const HostOverrides& overrides, const SshContext& context, bool is_answer)
      : host_(host), context_(context) {
    settings_.is_answer = is_answer;
    settings_.user = overrides.user;
    settings_.port = overrides.port;
    if (!overrides.jump.empty()) settings_.jump = overrides.jump;
    if (!overrides.identity.empty()) settings_.identities.push_back(overrides.identity);
    verdicts_ = overrides.user + '\n' + (overrides.port ? std::to_string(*overrides.port) : "") + '\n';
  }

  Result<void> read_all(const std::vector<std::shared_ptr<const ConfigFile>>& files) {
    for (const auto& file : files) {
      TRY(read(*file, Holds::yes));
    }
    return {};
  }

  /// Starts a second pass if a line contains `Match final`: ssh reads all lines again, with the host name of the first
  /// pass.
  bool begin_final_pass() {
    if (!wants_final_pass_ || final_pass_) return false;
    settings_.host_name = host_name();
    host_name_is_settled_ = final_pass_ = true;
    return true;
  }

  Result<HostConfig> result() {
    HostConfig config;
    config.host_name = to_lower(host_name());
    config.user = settings_.user.empty() ? context_.user : settings_.user;
    config.port = settings_.port.value_or(22);
    config.family = settings_.family.value_or(AddressFamily::any);
    config.identities_only = settings_.identities_only.value_or(false);
    config.public_keys = settings_.public_keys.value_or(true) &&
                         settings_.preferred.value_or("publickey").find("publickey") != string::npos;
    if (settings_.connect_timeout.value_or(0) > 0)
      config.connect_timeout = settings_.connect_timeout;  // 0 means not set
    config.host_key = settings_.host_key;
    config.host_key_alias = settings_.alias.value_or("");
    config.hash_known_hosts = settings_.hash_known.value_or(false);
    config.algorithms = settings_.algorithms;
    const Tokens tokens{host_, config, context_};
    if (settings_.jump && to_lower(*settings_.jump) != "none") config.proxy_jump = expand(*settings_.jump, tokens);
    if (settings_.command && to_lower(*settings_.command) != "none")
      config.proxy_command = expand(*settings_.command, tokens);
    add_files(config, tokens);
    if (!unknown_token_.empty()) {
      return fail({"the ssh configuration", "unknown token or variable in \"" + unknown_token_ + '"', "",
                   "check ssh_config(5), or use --exec 'ssh -T {host}'", kExitRefused});
    }
    config.notes.assign(settings_.notes.begin(), settings_.notes.end());
    if (!settings_.is_answer && !settings_.canonical.value_or("").empty()) {
      unread_.insert(*settings_.canonical + ": canonicalizehostname");
      host_specific_ = true;
    }
    config.unread.what.assign(unread_.begin(), unread_.end());
    if (!host_specific_) config.unread.shared = verdicts_;
    return config;
  }

 private:
  // ---- which lines apply ----
  Result<void> read(const ConfigFile& file, Holds outer) {
    Holds active = outer;
    for (const ConfigLine& line : file.lines) {
      if (!settings_.is_answer && !is_keyword(line.keyword)) add_unread(line, line.keyword);
      if (line.keyword == "host" || line.keyword == "match") {
        const auto holds = TRY(line.keyword == "host" ? host_line(line) : match(line, outer));
        active = std::min(outer, holds);
        verdicts_ += static_cast<char>('0' + static_cast<int>(active));
      } else if (line.keyword == "include") {
        for (const auto& included : line.included) {
          TRY(read(*included, active));
        }
      } else if (active == Holds::yes) {
        TRY(take_line(settings_, line));
      }
      host_specific_ = host_specific_ || (active != Holds::no && line.keyword == "hostname");
    }
    return {};
  }

  Result<Holds> host_line(const ConfigLine& line) const {
    return matches_patterns(host_, line.words) ? Holds::yes : Holds::no;
  }

  Result<Holds> match(const ConfigLine& line, Holds outer) {
    const auto verdict =
        TRY(match_line(line, {host_name(), host_, settings_.user.empty() ? context_.user : settings_.user,
                              context_.user, final_pass_}));
    wants_final_pass_ = wants_final_pass_ || verdict.wants_final_pass;
    if (verdict.holds == Holds::unknown && outer != Holds::no) {
      add_unread(line, "match " + verdict.unknown);
      host_specific_ = host_specific_ || verdict.host_specific;
    }
    return verdict.holds;
  }

  void add_unread(const ConfigLine& line, const string& what) { unread_.insert(line.where + ": " + what); }

  // ---- values with tokens ----
  string host_name() const {
    if (!settings_.host_name) return host_;
    return host_name_is_settled_ || settings_.is_answer ? *settings_.host_name
                                                        : expand_host_name(*settings_.host_name, host_);
  }

  string expand(const string& text, const Tokens& tokens) {
    const auto expanded = expand_tokens(text, tokens);
    if (!expanded) unknown_token_ = text;
    return expanded.value_or(text);
  }

  string path(const string& text, const Tokens& tokens) {
    const auto known = expand_variables(expand_home(text, context_.home), context_);
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
    const string ssh = context_.home + "/.ssh/";
    config.identity_files_named =
        std::ranges::any_of(settings_.identities, [&](const string& file) { return is_named(file); });
    config.identity_files = paths(settings_.identities, tokens);
    if (settings_.identities.empty()) {
      for (const char* name : kUsualIdentities) config.identity_files.push_back(ssh + name);
    }
    config.certificate_files = paths(settings_.certificates, tokens);
    if (settings_.revoked && to_lower(*settings_.revoked) != "none")
      config.revoked_host_keys = path(*settings_.revoked, tokens);
    if (settings_.agent) {
      const bool is_word =
          *settings_.agent == "none" || *settings_.agent == "SSH_AUTH_SOCK" || settings_.agent->starts_with('$');
      config.identity_agent =
          is_word ? expand_variables(*settings_.agent, context_).value_or("") : path(*settings_.agent, tokens);
    }
    config.user_known_hosts = settings_.user_known ? paths(*settings_.user_known, tokens)
                                                   : std::vector{ssh + "known_hosts", ssh + "known_hosts2"};
    config.global_known_hosts = settings_.global_known
                                    ? paths(*settings_.global_known, tokens)
                                    : std::vector<string>{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"};
  }

  /// True if the user named the file; ssh's answer also contains the default files.
  bool is_named(const string& file) const {
    return !settings_.is_answer || !file.starts_with(kUsualPlace) ||
           std::ranges::find(kUsualToSsh, string_view(file).substr(kUsualPlace.size())) == std::end(kUsualToSsh);
  }

  const string& host_;
  const SshContext& context_;
  bool final_pass_ = false;
  bool wants_final_pass_ = false;
  bool host_name_is_settled_ = false;
  std::set<string> unread_;
  bool host_specific_ = false;  // the unread lines depend on the host
  string verdicts_;             // results of all conditions: hosts with equal results share ssh's answer
  string unknown_token_;
  HostSettings settings_;
};

}  // namespace

std::vector<ConfigPath> Config::usual_paths(const SshContext& context) {
  return {{context.home + "/.ssh/config", true}, {"/etc/ssh/ssh_config", false}};
}

Result<Config> Config::read(const std::vector<ConfigPath>& paths, const SshContext& context) {
  Config config;
  for (const ConfigPath& path : paths) {
    auto file = TRY(parse_config_file(path, context, config.doubtful_));
    config.files_.push_back(std::move(file));
  }
  return config;
}

Config Config::of_answer(string_view text, bool shared) {
  Config config;
  config.files_.push_back(parse_config_answer(text, shared));
  config.is_answer_ = true;
  return config;
}

Result<HostConfig> Config::resolve(const string& host, const HostOverrides& overrides,
                                   const SshContext& context) const {
  Resolution resolution(host, overrides, context, is_answer_);
  do {
    TRY(resolution.read_all(files_));
  } while (resolution.begin_final_pass());
  auto config = resolution.result();
  if (!config || doubtful_.empty()) return config;
  for (const string& path : doubtful_) config->unread.what.push_back(path + ": writable by its group");
  config->unread.refusal = bad_permissions(doubtful_.front());
  return config;
}

}  // namespace dlaunch::transport::ssh
