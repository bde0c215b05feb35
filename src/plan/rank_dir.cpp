#include "plan/rank_dir.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/printable.h"
#include "base/text.h"

namespace dlaunch::plan {
namespace {

constexpr std::string_view kOption = "--rank-dir";

Result<std::vector<Piece>> parse(std::string_view text) {
  return parse_template(text, {"rank", "local_rank", "host", "device"}, kOption);
}

std::string rendered(const std::vector<Piece>& pieces, const Rank& rank, const Host& host) {
  std::string name;
  for (const auto& [literal, field] : pieces) {
    name += literal;
    if (field == "rank") name += std::to_string(rank.rank);
    if (field == "local_rank") name += std::to_string(rank.local_rank);
    if (field == "host") name += host.name;
    if (field == "device") name += rank.device ? std::to_string(*rank.device) : "-";
  }
  return name;
}

/// Absolute, without ".", ".." and a final slash: dlaunch finds its own files there by name.
std::string directory(const std::string& base, const std::string& name) {
  std::string path = (std::filesystem::path(base) / name).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Error shared(int one, const Rank& other, const std::string& path, const std::vector<Piece>& pieces) {
  const bool by_host = has_field(pieces, "local_rank") && !has_field(pieces, "host");
  return {.where = std::string(kOption),
          .what = "duplicate directory \"" + escaped(path) + "\": ranks " + std::to_string(one) + " and " +
                  std::to_string(other.rank),
          .why = "",
          .hint = by_host ? "add {host} to the template" : "add {rank} to the template"};
}

/// dlaunch would remove the content of the directory, including the working directory.
Error too_high(const std::string& path) {
  return {.where = std::string(kOption),
          .what = escaped(path) + " is the working directory or contains the working directory",
          .why = "the next job would remove the content of this directory",
          .hint = "use a subdirectory: 'device{rank}'"};
}

bool holds(const std::string& dir, const std::string& base) {
  return dir == "/" || dir == base || base.starts_with(dir + '/');
}

void add_directory_variable(const App& app, Rank& rank) {
  if (std::ranges::find(app.chosen, "PWD") == app.chosen.end()) rank.env.push_back("PWD=" + rank.dir);
}

}  // namespace

Result<void> check_rank_dir(std::string_view text) {
  if (text.empty() || text.find('\0') != std::string_view::npos) {
    return fail({.where = "", .what = "missing directory", .why = "", .hint = "write --rank-dir 'device{rank}'"});
  }
  return parse(text).map([](const auto&) {});
}

std::optional<Error> add_rank_dirs(Plan& plan, std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto pieces = parse(text);
  if (!pieces) return pieces.error();
  std::unordered_map<std::string, int> taken;
  for (Rank& rank : plan.ranks) {
    const PlannedHost& host = plan.host_of(rank);
    const App& app = plan.app_of(rank);
    const std::string base = program_directory(app, host);
    rank.dir = directory(base, rendered(*pieces, rank, host.host));
    if (holds(rank.dir, directory(base, ""))) return too_high(rank.dir);
    const auto [other, fresh] = taken.emplace(rank.dir, rank.rank);
    if (!fresh) return shared(other->second, rank, rank.dir, *pieces);
    add_directory_variable(app, rank);
  }
  return std::nullopt;
}

}  // namespace dlaunch::plan
