#include "transport/ssh/config_tokens.h"

#include <optional>

#include "base/digest.h"

namespace dlaunch::transport::ssh {
namespace {

using std::string;

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

}  // namespace

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

}  // namespace dlaunch::transport::ssh
