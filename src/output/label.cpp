#include "output/label.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <set>

#include "base/text.h"
#include "dlaunch/worlds.h"

namespace dlaunch::output {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kMsPerSecond = 1000;
constexpr std::array kRankColors = {36, 32, 33, 35, 34, 96, 92, 93, 95, 94};  // red is for stderr
constexpr int kStderrColor = 31;

const std::vector<std::string>& label_fields() {
  static const std::vector<std::string> fields = {"rank", "local_rank", "host", "device", "stream", "time"};
  return fields;
}

std::tm local_time(std::int64_t wall_ms) {
  std::time_t seconds = static_cast<std::time_t>(wall_ms / kMsPerSecond);
  std::tm local{};
  localtime_r(&seconds, &local);
  return local;
}

std::string ctime_text(std::int64_t wall_ms) {
  constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::tm t = local_time(wall_ms);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%s %s %2d %02d:%02d:%02d %d", kDays.at(static_cast<size_t>(t.tm_wday)),
                kMonths.at(static_cast<size_t>(t.tm_mon)), t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, 1900 + t.tm_year);
  return text.data();
}

std::string iso_text(std::int64_t wall_ms) {
  const std::tm t = local_time(wall_ms);
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03d", 1900 + t.tm_year, t.tm_mon + 1,
                t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, static_cast<int>(wall_ms % kMsPerSecond));
  return text.data();
}

std::string right_aligned(int number, int highest) {
  const std::string text = std::to_string(number);
  const std::size_t width = std::to_string(highest).size();
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

constexpr std::size_t kMostRanges = 3;  // further ranges are replaced by a count

/// "0-3,8", or "0-3,8,16,… 64 ranks".
std::string ranks_of(Writers writers) {
  std::set<int> ranks;
  for (const StreamFacts* writer : writers) ranks.insert(writer->rank);
  const std::vector<std::string> ranges = split(fold_ints(ranks), ',');
  std::string text;
  for (std::size_t i = 0; i < std::min(ranges.size(), kMostRanges); ++i) text += (i > 0 ? "," : "") + ranges[i];
  return ranges.size() > kMostRanges ? text + ",… " + count(ranks.size(), "rank") : text;
}

std::string number_of(Writers writers) {
  const RankFacts& host = writers.front()->host;
  if (!host.name.empty()) return host.name;
  if (writers.size() == 1) return Worlds::rank_name({host.world, writers.front()->rank});
  return (host.world == 1 ? "" : std::to_string(host.world) + '/') + ranks_of(writers);
}

/// Open MPI's job number, and the rank in the job.
std::string tag_of(Writers writers) {
  const RankFacts& host = writers.front()->host;
  return "[" + std::to_string(host.world) + "," + (host.name.empty() ? ranks_of(writers) : host.name) + "]";
}

std::string hosts_of(Writers writers) {
  std::set<std::string> hosts;
  for (const StreamFacts* writer : writers) hosts.insert(writer->host.host);
  return fold_names({hosts.begin(), hosts.end()});
}

/// Up to three values of the writers, such as "0,1"; "*" for more.
template <class Value>
std::string values_of(Writers writers, Value value) {
  std::set<std::string> values;
  for (const StreamFacts* writer : writers) values.insert(value(writer->host));
  if (values.size() > kMostRanges) return "*";
  std::string text;
  for (const std::string& each : values) text += (text.empty() ? "" : ",") + each;
  return text;
}

std::string device_of(const RankFacts& host) { return host.device ? std::to_string(*host.device) : "-"; }

}  // namespace

std::string writer_name(const StreamFacts& facts) {
  const RankFacts& rank = facts.host;
  return rank.name.empty() ? "rank " + Worlds::rank_name({rank.world, facts.rank}) : rank.name;
}

std::string_view stream_name(Stream stream) { return stream == Stream::out ? "stdout" : "stderr"; }

Result<void> check_label_template(std::string_view text) {
  return parse_template(text, label_fields(), "--label").map([](const auto&) {});
}

Prefix Prefix::open_mpi(const OutputSettings& settings, Writers writers) {
  Prefix prefix;
  if (settings.timestamp) prefix.add_time(Part::Kind::ctime);
  if (settings.tag) prefix.add_text(tag_of(writers));
  if (!prefix.empty()) prefix.add_text("<" + std::string(stream_name(writers.front()->stream)) + ">:");
  return prefix;
}

Prefix Prefix::label(std::string_view text, Writers writers, bool color) {
  Prefix prefix;
  const StreamFacts& facts = *writers.front();
  const std::size_t by_rank = static_cast<std::size_t>(facts.rank) % kRankColors.size();
  const int code = facts.stream == Stream::err ? kStderrColor : kRankColors.at(by_rank);
  if (color) prefix.add_text("\x1b[" + std::to_string(code) + "m");
  const auto pieces = parse_template(text, label_fields(), "--label").value();
  for (const auto& [literal, field] : pieces) {
    if (field.empty()) prefix.add_text(literal);
    if (field == "rank") {
      const bool is_padded = text == kDefaultLabel || text == kSrunLabel;
      const bool aligned = is_padded && writers.size() == 1 && facts.host.name.empty() && facts.host.world == 1;
      prefix.add_text(aligned ? right_aligned(facts.rank, facts.ranks - 1) : number_of(writers));
    }
    if (field == "local_rank") {
      prefix.add_text(values_of(writers, [](const RankFacts& host) { return std::to_string(host.local_rank); }));
    }
    if (field == "host") prefix.add_text(hosts_of(writers));
    if (field == "device") prefix.add_text(values_of(writers, device_of));
    if (field == "stream") prefix.add_text(stream_name(facts.stream));
    if (field == "time") prefix.add_time(Part::Kind::iso_time);
  }
  if (color) prefix.add_text("\x1b[0m");
  return prefix;
}

void Prefix::append(const Prefix& other) {
  for (const Part& part : other.parts_) {
    if (part.kind == Part::Kind::text) {
      add_text(part.text);
    } else {
      add_time(part.kind);
    }
  }
}

void Prefix::add_text(std::string_view text) {
  if (text.empty()) return;
  if (parts_.empty() || parts_.back().kind != Part::Kind::text) parts_.emplace_back();
  parts_.back().text += text;
}

std::string_view Prefix::render(std::int64_t wall_ns) {
  if (parts_.size() == 1 && parts_[0].kind == Part::Kind::text) return parts_[0].text;
  const std::int64_t wall_ms = wall_ns / kNsPerMs;
  if (wall_ms == rendered_ms_) return rendered_;
  rendered_ms_ = wall_ms;
  rendered_.clear();
  for (const auto& [kind, text] : parts_) {
    if (kind == Part::Kind::text) rendered_ += text;
    if (kind == Part::Kind::iso_time) rendered_ += iso_text(wall_ms);
    if (kind == Part::Kind::ctime) rendered_ += ctime_text(wall_ms);
  }
  return rendered_;
}

}  // namespace dlaunch::output
