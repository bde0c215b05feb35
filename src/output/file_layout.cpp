#include "output/file_layout.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/index_cast.h"
#include "base/text.h"
#include "dlaunch/worlds.h"
#include "output/label.h"
#include "sys/inherited.h"

namespace dlaunch::output {
namespace {

constexpr std::string_view kOption = "--output-filename";

const std::vector<std::string>& file_fields() {
  static const std::vector<std::string> fields = {"rank",   "local_rank", "host",    "device",
                                                  "stream", "job",        "attempt", "round"};
  return fields;
}

/// A device or a descriptor, which no job empties.
bool is_special(std::string_view path) { return path.starts_with("/dev/") || sys::named_descriptor(path); }

std::vector<Piece> pieces_of(const FileSettings& files, Stream stream) {
  const bool err = files.by_stream && stream == Stream::err;
  return parse_template(err ? files.err_target : files.target, file_fields(), kOption).value_or(std::vector<Piece>{});
}

std::string zero_padded(int rank, int ranks) {
  std::string text = std::to_string(rank);
  const std::size_t width = std::to_string(ranks).size();
  text.insert(0, width - std::min(width, text.size()), '0');
  return text;
}

/// "attempt.2" and "round.1", each between the given texts, of later attempts and rounds without a field in the
/// template.
std::string later_parts(const RankFacts& facts, std::string_view before, std::string_view after,
                        const std::vector<Piece>& pieces = {}) {
  std::string text;
  const auto add = [&](std::string_view name, int number) {
    if (number == 0 || has_field(pieces, name)) return;
    text.append(before).append(name).append(".").append(std::to_string(number)).append(after);
  };
  add("attempt", facts.attempt);
  add("round", facts.round.value_or(0));
  return text;
}

std::string open_mpi_path(const FileSettings& files, const RankFacts& facts, int rank, int ranks, Stream stream) {
  std::string path = files.target;
  if (path.empty() || path.back() != '/') path += '/';
  if (files.job_directory || facts.world > 1) path += std::to_string(facts.world) + '/';
  path += later_parts(facts, "", "/");
  return path + "rank." + zero_padded(rank, ranks) + '/' + std::string(stream_name(stream));
}

/// The number; in a later world as "2.0", so that worlds do not share files.
std::string numbered(const RankFacts& facts, int number) {
  return (facts.world > 1 ? std::to_string(facts.world) + '.' : "") + std::to_string(number);
}

/// The common directory of all files of a template, with a final slash.
std::string log_directory(const FileSettings& files) {
  const bool takes_err = files.target.empty() || (is_special(files.target) && !files.err_target.empty());
  const std::string& target = takes_err ? files.err_target : files.target;
  const bool is_directory = !files.by_stream && !is_template(target);
  const std::string fixed = is_directory ? target + '/' : target.substr(0, target.find('{'));
  return fixed.substr(0, fixed.rfind('/') + 1);
}

std::string missing_field(const FileSettings& files, Stream stream, const RankFacts& a, const RankFacts& b) {
  const auto pieces = pieces_of(files, stream);
  const bool hosts_would_tell = a.host != b.host && !has_field(pieces, "host");
  return hosts_would_tell && has_field(pieces, "local_rank") ? "{host}" : "{rank}";
}

std::string name_of(const std::vector<RankFacts>& ranks, int id) {
  const RankFacts& facts = at_index(ranks, id);
  return Worlds::rank_name({facts.world, id - facts.first});
}

tl::unexpected<Error> one_file_for_both(const std::string& path) {
  return fail({.where = "--stdout-file",
               .what = "stdout and stderr would both write " + path,
               .why = "",
               .hint = "use --output-filename 'DIR/{rank}.log:nocopy' for one file with both"});
}

}  // namespace

std::string locked_directory(const FileSettings& files) {
  if (files.by_stream || is_template(files.target)) return {};
  std::string directory = files.target;
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  return directory;
}

std::string stacks_base(const FileSettings& files, const RankFacts& facts) {
  std::string path = log_directory(files);
  const bool is_directory = !files.by_stream && !is_template(files.target);
  if (is_special(path)) return {};
  if (!is_directory) return path + later_parts(facts, "", ".") + "stacks." + files.job + '.';
  if (files.job_directory) path += "1/";
  return path + later_parts(facts, "", "/") + "stacks.";
}

std::string claimed_name(const std::string& name) { return "." + name + ".dlaunch"; }

std::string record_stacks_base(const std::string& record, const RankFacts& facts) {
  return record + ".stacks." + later_parts(facts, "", ".");
}

std::vector<std::string> attempt_patterns(const FileSettings& files, int attempt) {
  RankFacts facts;
  facts.attempt = attempt;
  std::vector<std::string> patterns;
  if (!files.by_stream && !is_template(files.target)) return patterns;
  for (const Stream stream : {Stream::out, Stream::err}) {
    const auto pieces = pieces_of(files, stream);
    std::string pattern;
    for (const auto& [literal, field] : pieces) {
      for (const char c : literal) {
        if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
        pattern += c;
      }
      if (!field.empty()) pattern += field == "attempt" ? std::to_string(attempt) : "*";
    }
    const bool keeps = pattern.empty() || is_special(pattern) || files.appends(stream);
    if (!keeps) patterns.push_back(pattern + later_parts(facts, ".", "", pieces));
  }
  return patterns;
}

bool is_template(std::string_view target) { return target.find('{') != std::string_view::npos; }

Result<void> check_file_template(std::string_view target) {
  if (!is_template(target)) return {};
  return parse_template(target, file_fields(), kOption).map([](const auto&) {});
}

std::string file_path(const FileSettings& files, const RankFacts& facts, int rank, int ranks, Stream stream) {
  if (!facts.name.empty()) {
    const std::string job = has_field(pieces_of(files, Stream::out), "job") ? '.' + files.job : "";
    return log_directory(files) + facts.name + job + later_parts(facts, ".", "") + ".log";
  }
  if (!files.by_stream && !is_template(files.target)) return open_mpi_path(files, facts, rank, ranks, stream);
  std::string path;
  const auto pieces = pieces_of(files, stream);
  for (const auto& [literal, field] : pieces) {
    path += literal;
    if (field == "attempt") path += std::to_string(facts.attempt);
    if (field == "round") path += std::to_string(facts.round.value_or(0));
    if (field == "rank") path += numbered(facts, rank);
    if (field == "local_rank") path += numbered(facts, facts.local_rank);
    if (field == "host") path += facts.host;
    if (field == "device") path += facts.device ? std::to_string(*facts.device) : "-";
    if (field == "stream") path += stream_name(stream);
    if (field == "job") path += files.job;
  }
  const bool keeps = is_special(path) || files.appends(stream);  // never overwritten
  return keeps ? path : path + later_parts(facts, ".", "", pieces);
}

bool on_console(const OutputSettings& settings, const RankFacts& facts, int rank) {
  if (settings.console_ranks && !(facts.world == 1 && settings.console_ranks->contains(rank))) return false;
  return !settings.console_local_ranks || settings.console_local_ranks->contains(facts.local_rank);
}

std::optional<Stream> shown_without_file(const OutputSettings& settings) {
  for (const Stream stream : {Stream::out, Stream::err}) {
    if (stream == Stream::err && settings.merge_stderr) continue;
    if (!settings.files || !settings.files->keeps(stream)) return stream;
    if (stream == Stream::err ? settings.files->local_err : settings.files->local) return stream;
  }
  return std::nullopt;
}

std::string files_place(const FileSettings& files, const RankFacts& facts, Stream stream) {
  if (files.by_stream && stream == Stream::err) return files.err_target;
  if (files.by_stream || is_template(files.target)) return files.target;
  std::string path = log_directory(files) + (files.job_directory ? "1/" : "") + later_parts(facts, "", "/");
  path.pop_back();
  return path;
}

int count_ranks(const std::vector<RankFacts>& all, int world) {
  return static_cast<int>(
      std::ranges::count_if(all, [&](const RankFacts& facts) { return facts.name.empty() && facts.world == world; }));
}

bool streams_share_file(const FileSettings& files) {
  return !files.by_stream && is_template(files.target) && !has_field(pieces_of(files, Stream::out), "stream");
}

bool may_be_shared(const FileSettings& files) {
  if (!files.by_stream) return false;
  if (files.target == files.err_target) return true;
  return std::ranges::any_of(std::array{Stream::out, Stream::err}, [&](Stream stream) {
    const auto pieces = pieces_of(files, stream);
    const bool of_rank = has_field(pieces, "rank") || has_field(pieces, "local_rank") || has_field(pieces, "device");
    return files.keeps(stream) && !of_rank;
  });
}

Result<void> check_one_rank_a_file(const FileSettings& files, const std::vector<RankFacts>& ranks, Sharing sharing) {
  const bool may_share = sharing == Sharing::where_meant && may_be_shared(files);
  std::unordered_map<std::string, std::pair<int, Stream>> taken;
  int world = 0;
  int count = 0;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    const RankFacts& facts = at_index(ranks, rank);
    if (!facts.name.empty()) continue;
    if (std::exchange(world, facts.world) != facts.world) count = count_ranks(ranks, facts.world);
    for (const Stream stream : {Stream::out, Stream::err}) {
      if (!files.keeps(stream, facts.local_rank) || (stream == Stream::err && !files.by_stream)) continue;
      const std::string path = file_path(files, facts, rank - facts.first, count, stream);
      const auto [other, fresh] = taken.emplace(path, std::pair{rank, stream});
      if (fresh) continue;
      const auto [first, of] = other->second;
      if (may_share && world == 1) continue;
      if (of != stream) return one_file_for_both(path);
      const std::string field = missing_field(files, stream, at_index(ranks, first), facts);
      return fail(
          {.where = std::string(kOption),
           .what = "ranks " + name_of(ranks, first) + " and " + name_of(ranks, rank) + " would both write " + path,
           .why = "",
           .hint = "add " + field + " to the template"});
    }
  }
  return {};
}

std::string direct_path(const OutputSettings& settings, const RankFacts& facts, int rank, int ranks, Stream stream) {
  if (!settings.files || settings.tag || settings.timestamp || !facts.name.empty() || !facts.local) return {};
  if (settings.read_all) return {};
  if (settings.pty && stream == Stream::out) return {};
  if (settings.merge_stderr && stream == Stream::err) return {};
  if (!settings.files->keeps(stream, facts.local_rank)) return {};
  if (settings.files->copies(stream) && on_console(settings, facts, rank)) return {};
  if (streams_share_file(*settings.files) && !settings.merge_stderr) return {};
  if (may_be_shared(*settings.files) || settings.files->appends(stream)) return {};
  std::string path = file_path(*settings.files, facts, rank, ranks, stream);
  return sys::named_descriptor(path) ? "" : path;
}

}  // namespace dlaunch::output
