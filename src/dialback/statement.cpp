#include "dialback/statement.h"

#include <sodium.h>

#include <algorithm>
#include <array>

#include "base/most_nodes.h"
#include "base/printable.h"
#include "base/text.h"
#include "dialback/sealed_records.h"

namespace dlaunch::dialback {
namespace {

constexpr char kBetween = '\0';  // not part of any word of a command line
constexpr size_t kHeadFields = 4;
constexpr size_t kMostName = 255;
constexpr long kLongestHeartbeat = 60'000;  // in milliseconds
constexpr long kLongestPause = 7L * 24 * 3600 * 1000;
constexpr size_t kMostWords = kMostRecord - 2048;  // bytes; the remaining bytes are for the other fields
constexpr size_t kShownWord = 200;
constexpr size_t kMostPart = 4096;  // of a refusal
constexpr size_t kRefusalFields = 5;
constexpr char kNothingLeft = '1';
constexpr char kSomethingMayBeLeft = '0';

size_t size_of(const std::vector<std::string>& words) {
  size_t size = 0;
  for (const std::string& word : words) size += word.size() + 1;
  return size;
}

/// Returns one word, a digest, that is sent instead of `words` if their total size exceeds kMostWords.
std::string digest_of(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += word + kBetween;
  std::array<unsigned char, 32> digest{};
  ::crypto_generichash(digest.data(), digest.size(), reinterpret_cast<const unsigned char*>(all.data()), all.size(),
                       nullptr, 0);
  std::array<char, 2 * digest.size() + 1> text{};
  ::sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
  return "words of digest " + std::string(text.data());
}

std::vector<std::string> as_sent(const std::vector<std::string>& words) {
  if (size_of(words) <= kMostWords) return words;
  return {digest_of(words)};
}

std::string shown(const std::vector<std::string>& words, size_t place) {
  if (place >= words.size()) return "nothing";
  const std::string& word = words[place];
  return '"' + escaped(word.substr(0, kShownWord)) + (word.size() > kShownWord ? "…\"" : "\"");
}

std::string both(std::string_view what, const std::string& nodes, const std::string& launchers) {
  return std::string(what) + ": " + nodes + " on the node, " + launchers + " on node 0";
}

}  // namespace

std::string to_payload(const Statement& statement) {
  std::string payload = std::to_string(statement.nodes) + kBetween + std::to_string(statement.node) + kBetween +
                        statement.version.substr(0, kMostName) + kBetween + statement.name.substr(0, kMostName);
  for (const std::string& word : as_sent(statement.words)) payload += kBetween + word;
  return payload;
}

Result<Statement> statement_in(std::string_view payload) {
  auto fields = split(payload, kBetween);
  const auto nodes = parse_int(fields[0], 1, kMostNodes);
  const auto node = fields.size() < kHeadFields ? std::nullopt : parse_int(fields[1], kUnnumbered, kMostNodes - 1);
  if (!nodes || !node || fields[2].size() > kMostName || fields[3].size() > kMostName) {
    return fail({"", "protocol error: invalid first message", "", "", kExitHostLost});
  }
  Statement statement{fields[2], static_cast<int>(*nodes), static_cast<int>(*node), fields[3], {}};
  statement.words.assign(fields.begin() + kHeadFields, fields.end());
  return statement;
}

std::optional<std::string> difference_from(const Statement& launcher, const Statement& node) {
  if (node.version != launcher.version) {
    return both("different versions of dlaunch", escaped(node.version), escaped(launcher.version));
  }
  if (node.nodes != launcher.nodes) {
    return both("different numbers of nodes", std::to_string(node.nodes), std::to_string(launcher.nodes));
  }
  if (node.node != kUnnumbered && (node.node <= 0 || node.node >= launcher.nodes)) {
    return "invalid node number \"" + std::to_string(node.node) + "\": expected 1 to " +
           std::to_string(launcher.nodes - 1);
  }
  const auto here = as_sent(launcher.words);
  if (node.words == here) return std::nullopt;
  const auto differ = std::ranges::mismatch(node.words, here);
  const auto place = static_cast<size_t>(differ.in1 - node.words.begin());
  return both("different command lines", shown(node.words, place), shown(here, place));
}

std::string to_payload(const Welcome& welcome) {
  return std::to_string(welcome.heartbeat.count()) + kBetween +
         std::to_string(std::min<std::int64_t>(welcome.pause_limit.count(), kLongestPause)) + kBetween + welcome.job_id;
}

Result<Welcome> welcome_in(std::string_view payload) {
  const auto fields = split(payload, kBetween);
  const auto heartbeat = parse_int(fields[0], 1, kLongestHeartbeat);
  const auto pause = fields.size() == 3 ? parse_int(fields[1], 0, kLongestPause) : std::nullopt;
  if (!heartbeat || !pause) {
    return fail({"", "protocol error: invalid answer of the launcher", "", "", kExitHostLost});
  }
  return Welcome{printable(fields[2]), std::chrono::milliseconds(*heartbeat), std::chrono::milliseconds(*pause)};
}

std::string refusal_payload(const Error& error) {
  std::string payload = std::to_string(error.exit_code);
  for (const std::string* part : {&error.where, &error.what, &error.why, &error.hint}) {
    payload += kBetween + part->substr(0, kMostPart);
  }
  return payload;
}

/// Error's to_text() makes the parts printable.
Error refusal_in(std::string_view payload) {
  auto fields = split(payload, kBetween);
  fields.resize(kRefusalFields);
  const int code = exit_code_in(fields[0]);
  return {"node 0 reports: " + fields[1], fields[2], fields[3], fields[4], code > 0 ? code : kExitHostLost};
}

int exit_code_in(std::string_view payload) { return static_cast<int>(parse_int(payload, 0, 255).value_or(-1)); }

std::string to_payload(const DataEnd& end) {
  return (end.nothing_left ? kNothingLeft : kSomethingMayBeLeft) + end.reason;
}

DataEnd data_end_in(std::string_view payload) {
  if (payload.empty()) return {};
  return {payload[0] == kNothingLeft, printable(payload.substr(1))};
}

}  // namespace dlaunch::dialback
