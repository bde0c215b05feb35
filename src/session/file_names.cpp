#include "session/file_names.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "base/index_cast.h"
#include "base/printable.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "base/try.h"
#include "launcher/frames.h"
#include "output/file_layout.h"
#include "wire/archive.h"

namespace dlaunch::session {
namespace {

using output::Stream;

std::string normal(const std::string& path) { return std::filesystem::path(path).lexically_normal().string(); }

/// Rules of file_layout.h permit files that several of these options share.
bool is_log(std::string_view option) {
  return option == "--output-filename" || option == "--stdout-file" || option == "--stderr-file";
}

/// The directory of the path that --keep-logs renames or removes: DIR for number 0, DIR.1 to DIR.K; empty: none.
std::string renamed_above(const std::string& path, const output::OutputSettings& output, int first_number) {
  const std::string logs = renamed_directory(output);
  if (logs.empty() || !path.starts_with(logs)) return {};
  const std::string suffix = path.substr(logs.size(), path.find('/', logs.size()) - logs.size());
  const bool is_first = suffix.empty() && first_number == 0;
  const bool is_kept = suffix.starts_with('.') && parse_int(suffix.substr(1), 1, output.keep_logs);
  return is_first || is_kept ? logs + suffix : "";
}

/// A job must not rename or remove its own files.
Result<void> check_renamed(const JobOptions& options, const std::string& pid_file, const plan::Plan& plan) {
  const auto check = [&](std::string_view option, const std::string& path, int first_number) -> Result<void> {
    const std::string renamed = renamed_above(path, options.output, first_number);
    if (renamed.empty()) return {};
    return fail(conflict("--keep-logs", option, "the start of the job renames or removes " + escaped(renamed),
                         "set a path outside of that directory with " + std::string(option)));
  };
  TRY(check("--report", normal(options.report_file), 0));
  TRY(check("--junit", normal(options.junit_file), 0));
  TRY(check("--report-pid", normal(pid_file), 0));
  if (!options.error_file.empty()) {
    for (const std::string& path : launcher::error_files(plan)) TRY(check("--error-file", normal(path), 0));
  }
  for (const plan::Rank& rank : plan.ranks) TRY(check("--rank-dir", rank.dir, 1));  // DIR may have rank directories
  return {};
}

/// --keep-logs creates directories next to the log directory.
Result<void> check_rank_dirs(const JobOptions& options, const std::string& pid_file, const plan::Plan& plan) {
  const std::string logs = renamed_directory(options.output);
  const std::array files{std::pair{"--report", normal(options.report_file)},
                         std::pair{"--junit", normal(options.junit_file)}, std::pair{"--report-pid", normal(pid_file)},
                         std::pair{"--keep-logs", logs}};
  for (const plan::Rank& rank : plan.ranks) {
    for (const auto& [option, path] : files) {
      if (rank.dir.empty() || !path.starts_with(rank.dir + '/')) continue;
      const std::string hint = path == logs ? "set another log directory with --output-filename"
                                            : "set another file with " + std::string(option);
      return fail(
          conflict(option, "--rank-dir", "the start of the job removes all files in " + escaped(rank.dir), hint));
    }
  }
  return {};
}

}  // namespace

std::string renamed_directory(const output::OutputSettings& output) {
  if (!output.files || output.keep_logs == 0) return {};
  std::string directory = normal(output::locked_directory(*output.files));
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  return directory;
}

std::vector<LogFile> log_files(const JobOptions& options, const plan::Plan& plan) {
  std::vector<LogFile> all;
  if (!options.output.files) return all;
  output::FileSettings files = *options.output.files;
  files.job = plan.job_id;
  const auto facts = launcher::rank_facts(plan);
  const int ranks = output::count_ranks(facts);
  for (int rank = 0; rank < static_cast<int>(facts.size()); ++rank) {
    for (const Stream stream : {Stream::out, Stream::err}) {
      if (!files.keeps(stream, at_index(facts, rank).local_rank)) continue;
      all.push_back({stream, normal(output::file_path(files, at_index(facts, rank), rank, ranks, stream))});
    }
  }
  return all;
}

Result<void> check_file_names(const JobOptions& options, const std::string& pid_file, const plan::Plan& plan) {
  TRY(check_rank_dirs(options, pid_file, plan));
  TRY(check_renamed(options, pid_file, plan));
  const bool has_dirs = std::ranges::any_of(plan.ranks, [](const plan::Rank& rank) { return !rank.dir.empty(); });
  const bool any = !options.report_file.empty() || !options.junit_file.empty() || !pid_file.empty();
  if (!any && !has_dirs && options.error_file.empty()) return {};
  std::map<std::string, std::string_view> option_of;
  const auto add = [&](std::string_view option, const std::string& path) -> Result<void> {
    if (path.empty() || path.starts_with("/dev/") || path.starts_with("/proc/")) return {};
    const auto [other, is_new] = option_of.emplace(path, option);
    if (is_new || (is_log(option) && is_log(other->second))) return {};
    return fail(conflict(other->second, option, "both write " + escaped(path), "use different files"));
  };
  TRY(add("--report", normal(options.report_file)));
  TRY(add("--junit", normal(options.junit_file)));
  TRY(add("--report-pid", normal(pid_file)));
  if (!options.error_file.empty()) {
    for (const std::string& path : launcher::error_files(plan)) TRY(add("--error-file", normal(path)));
  }
  for (const plan::Rank& rank : plan.ranks) {
    if (rank.dir.empty()) continue;
    TRY(add("--rank-dir", rank.dir + '/' + wire::kRankDirMarker));
    if (options.save_env) TRY(add("--save-env", rank.dir + '/' + wire::kEnvironmentFile));
  }
  for (const LogFile& file : log_files(options, plan)) {
    const bool by_stream = options.output.files->by_stream;
    TRY(add(!by_stream                   ? "--output-filename"
            : file.stream == Stream::out ? "--stdout-file"
                                         : "--stderr-file",
            file.path));
  }
  return {};
}

}  // namespace dlaunch::session
