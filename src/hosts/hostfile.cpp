#include "dlaunch/hostfile.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/ip_address.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "base/try.h"
#include "hosts/device_filter.h"
#include "hosts/host_name.h"
#include "hosts/scanner.h"

namespace dlaunch::hosts {
namespace {

using std::string_view;

constexpr string_view kJumpCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_+@:[],%";
constexpr string_view kVariablePrefix = "env.";
constexpr string_view kSpare = "spare";
constexpr const char* kExampleLine = "write one line per host: node1 slots=8";

Error wrong(std::string what, std::string hint = {}) {
  return {.where = "", .what = std::move(what), .why = "", .hint = std::move(hint)};
}

std::string quoted(string_view text) { return "\"" + std::string(text) + "\""; }

/// Sets one key of an entry. `value` is not empty.
using Setter = Result<void> (*)(HostEntry&, const std::string& value);

Result<int> number(const std::string& value, int min, int max) {
  if (const auto read = parse_int(value, min, max)) return static_cast<int>(*read);
  return fail(invalid_value("number", value, std::to_string(min) + " to " + std::to_string(max)));
}

Result<void> set_number(std::optional<int>& place, const std::string& value, int min, int max) {
  const auto read = TRY(number(value, min, max));
  place = read;
  return {};
}

Result<void> set_slots(HostEntry& entry, const std::string& value) {
  return set_number(entry.slots, value, 0, kMostSlots);
}
Result<void> set_max_slots(HostEntry& entry, const std::string& value) {
  return set_number(entry.max_slots, value, 0, kMostSlots);
}
Result<void> set_port(HostEntry& entry, const std::string& value) {
  return set_number(entry.reach.port, value, 1, 65535);
}

Result<void> set_devices(HostEntry& entry, const std::string& value) {
  auto devices = TRY(parse_devices(value));
  entry.devices = std::move(devices);
  return {};
}

Result<void> set_user(HostEntry& entry, const std::string& value) {
  if (!entry.reach.user.empty() && entry.reach.user != value) {
    return fail(wrong("duplicate user " + quoted(value), "remove user=, or the user before '@'"));
  }
  entry.reach.user = value;
  return check_user(value);
}

Result<void> set_path(std::string& place, const std::string& value) {
  if (value.front() != '/' && !value.starts_with("~/")) {
    return fail(invalid_value("path", value, "an absolute path, or a path that starts with ~/"));
  }
  place = value;
  return {};
}

Result<void> set_identity(HostEntry& entry, const std::string& value) { return set_path(entry.reach.identity, value); }
Result<void> set_agent(HostEntry& entry, const std::string& value) { return set_path(entry.reach.agent, value); }

Result<void> set_wdir(HostEntry& entry, const std::string& value) {
  if (value.front() != '/') return fail(invalid_value("path", value, "an absolute path"));
  entry.wdir = value;
  return {};
}

Result<void> set_jump(HostEntry& entry, const std::string& value) {
  if (value.find_first_not_of(kJumpCharacters) != std::string::npos || value.front() == '-') {
    return fail(invalid_value("jump host", value, "jump=[user@]host[:port]"));
  }
  entry.reach.jump = value;
  return {};
}

/// Returns false for a word of another file format, such as a line of /etc/passwd.
bool like_a_host(string_view word) {
  const bool has_address = word.find('[') != word.npos || is_ipv6(word.substr(word.rfind('@') + 1));
  return word.find_first_of("/\\(){}<>;|&$!\"'`") == word.npos && (has_address || std::ranges::count(word, ':') <= 1);
}

struct Key {
  string_view name;
  Setter set;
  bool is_path = false;  ///< the value may have quotes; '#' within a word does not begin a comment
};

constexpr std::array<Key, 23> kKeys{{
    {"slots", set_slots},         {"cpu", set_slots},
    {"count", set_slots},         {"max_slots", set_max_slots},
    {"max-slots", set_max_slots}, {"slots_max", set_max_slots},
    {"slots-max", set_max_slots}, {"max_cpu", set_max_slots},
    {"max-cpu", set_max_slots},   {"cpu_max", set_max_slots},
    {"cpu-max", set_max_slots},   {"max_count", set_max_slots},
    {"max-count", set_max_slots}, {"count_max", set_max_slots},
    {"count-max", set_max_slots}, {"devices", set_devices},
    {"user", set_user},           {"username", set_user},
    {"port", set_port},           {"identity", set_identity, true},
    {"jump", set_jump},           {"agent", set_agent, true},
    {"wdir", set_wdir, true},
}};

Error unknown_key(string_view key) {
  std::vector<std::string> known = {"env.NAME", std::string(kSpare)};
  for (const Key& row : kKeys) known.emplace_back(row.name);
  const auto near = nearest(key, known);
  return wrong("unknown key " + quoted(key),
               near ? "use " + *near
                    : "use slots, max_slots, devices, user, port, identity, jump, agent, wdir, env.NAME or spare");
}

Error second_host(string_view word) {
  return wrong("unexpected word " + quoted(word), "write one host per line, then key=value");
}

/// Parses one line: the host and its keys. The scanner is at the host.
class LineParser {
 public:
  /// `first`: no entry precedes the line, so a malformed host may mean that the file is not a hostfile.
  LineParser(Scanner& scanner, bool first) : scanner_(scanner), first_(first) { entry_.from = scanner.line(); }

  Result<std::vector<HostEntry>> parse() {
    TRY(take_host());
    for (;;) {
      TRY(scanner_.skip_blanks());
      if (scanner_.at_line_end()) break;
      TRY(take_key());
    }
    if (entry_.max_slots && entry_.slots.value_or(0) > *entry_.max_slots) {
      return placed(wrong(
          "slots=" + std::to_string(*entry_.slots) + " conflicts with max_slots=" + std::to_string(*entry_.max_slots),
          "set max_slots to at least the value of slots"));
    }
    if (entry_.max_slots && !entry_.slots) entry_.slots = entry_.max_slots;
    std::vector<HostEntry> entries(word_.names.size(), entry_);
    for (size_t i = 0; i < entries.size(); ++i) entries[i].name = word_.names[i];
    return entries;
  }

 private:
  tl::unexpected<Error> placed(Error error) const {
    error.where = scanner_.word_place();
    return fail(std::move(error));
  }

  Result<void> take_host() {
    const std::string text(scanner_.take_word());
    if (first_ && !like_a_host(text)) {
      return placed(
          {.where = "", .what = "not a hostfile", .why = "expected lines NAME slots=N", .hint = kExampleLine});
    }
    auto word = parse_host_word(text);
    if (!word) return placed(word.error());
    word_ = *std::move(word);
    entry_.reach.user = word_.user;
    if (!word_.has_count) return {};
    const auto slots = number(word_.count, 0, kMostSlots);
    if (!slots) return placed(slots.error());
    entry_.slots = *slots;
    seen_.insert(set_slots);
    return {};
  }

  Result<void> take_key() {
    const std::string key(scanner_.take_word());
    const std::string key_place = scanner_.word_place();
    if (key.empty()) return placed(wrong("missing key before '='"));
    auto equals = TRY(scanner_.take_equals());
    const auto at_key = [&](Error error) {
      error.where = key_place;
      return fail(std::move(error));
    };
    if (!equals && key == kSpare) {
      entry_.replacement = true;
      return {};
    }
    if (!equals) {
      const bool rank = word_.names.front() == "rank" && parse_int(key, 0, kMostSlots);
      return at_key(rank ? rank_line() : second_host(key));
    }
    if (word_.names.front() == "rank" && parse_int(key, 0, kMostSlots)) return at_key(rank_line());
    if (key.starts_with(kVariablePrefix)) return take_variable(key.substr(kVariablePrefix.size()), key_place);
    const auto row = std::ranges::find(kKeys, string_view(key), &Key::name);
    if (row == kKeys.end()) return at_key(unknown_key(key));
    if (!seen_.insert(row->set).second) return at_key(wrong("duplicate key " + quoted(key), ""));
    TRY(scanner_.skip_blanks());
    auto value = TRY(row->is_path ? scanner_.take_value() : Result<std::string>(std::string(scanner_.take_word())));
    if (value.empty()) return at_key(wrong("missing value of " + key, "write " + key + "=VALUE"));
    if (auto ok = row->set(entry_, value); !ok) return placed(ok.error());
    return {};
  }

  /// The value begins directly after '=' and may be empty. Errors do not show the value: it may be a secret.
  Result<void> take_variable(const std::string& name, const std::string& place) {
    const auto value = TRY(scanner_.take_value());
    const auto at_key = [&](Error error) {
      error.where = place;
      return fail(std::move(error));
    };
    if (name.empty()) return at_key(wrong("missing variable name after env.", "write env.NAME=VALUE"));
    if (!variables_.insert(name).second) return at_key(wrong("duplicate key " + quoted("env." + name)));
    entry_.env.push_back(name + "=" + value);
    return {};
  }

  static Error rank_line() {
    return wrong("not a hostfile: this is a line of a rankfile", "use --rankfile for this file");
  }

  Scanner& scanner_;
  bool first_;
  HostWord word_;
  HostEntry entry_;
  std::set<Setter> seen_;
  std::set<std::string> variables_;
};

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
               .hint = "write NAME:SLOTS; for a port, use port= in a hostfile"});
}

std::string too_many_hosts() { return "too many hosts: the limit is " + std::to_string(kMostHosts); }

}  // namespace

Result<std::vector<HostEntry>> parse_hostfile(string_view text, const std::string& name) {
  if (text.find('\0') != string_view::npos) {
    return fail({name, "not a text file", "the file contains a NUL byte", kExampleLine});
  }
  std::vector<HostEntry> entries;
  for (Scanner scanner(text, name); !scanner.at_end(); scanner.next_line()) {
    TRY(scanner.skip_blanks());
    if (scanner.at_line_end()) continue;
    auto line = TRY(LineParser(scanner, entries.empty()).parse());
    if (entries.size() + line.size() > kMostHosts) {
      return fail({scanner.line(), too_many_hosts(), "", "remove hosts, or start several jobs"});
    }
    std::move(line.begin(), line.end(), std::back_inserter(entries));
  }
  if (entries.empty()) {
    return fail({name, "missing host", text.empty() ? "the file is empty" : "the file has no host", kExampleLine});
  }
  return entries;
}

Result<std::vector<HostEntry>> parse_host_list(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return fail({.where = "", .what = "invalid host list: unexpected NUL byte", .why = "", .hint = ""});
  }
  std::vector<HostEntry> entries;
  for (const std::string& part : split_outside_brackets(text, ',')) {
    const std::string_view item = trim(part);
    if (item.empty()) {
      return fail({"", trim(text).empty() ? "missing host" : "missing host before or after a comma", "",
                   "write hosts with commas: node1:8,node2:8"});
    }
    const auto word = TRY(parse_host_word(item));
    HostEntry entry;
    entry.from = "-H";
    entry.reach.user = word.user;
    TRY(set_slots(word, item, entry));
    if (entries.size() + word.names.size() > kMostHosts) {
      return fail({"", too_many_hosts(), "", "remove hosts, or start several jobs"});
    }
    for (const std::string& name : word.names) {
      entries.push_back(entry);
      entries.back().name = name;
    }
  }
  return entries;
}

}  // namespace dlaunch::hosts
