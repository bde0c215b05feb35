#include "session/file_names.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/environment.h"
#include "base/index_cast.h"
#include "base/printable.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "base/try.h"
#include "launcher/frames.h"
#include "output/file_layout.h"
#include "report/record_file.h"
#include "session/same_files.h"
#include "sys/files.h"
#include "sys/inherited.h"
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
std::string renamed_above(const std::string& path, const std::string& logs, const output::OutputSettings& output,
                          int first_number) {
  if (logs.empty() || !path.starts_with(logs)) return {};
  const std::string suffix = path.substr(logs.size(), path.find('/', logs.size()) - logs.size());
  const bool is_first = suffix.empty() && first_number == 0;
  const bool is_kept = suffix.starts_with('.') && parse_int(suffix.substr(1), 1, output.keep_logs);
  return is_first || is_kept ? logs + suffix : "";
}

/// Whether the start of an attempt may rename the record of an earlier attempt to the path, or to a directory above.
bool is_kept_record(const std::string& path, const JobOptions& options, const plan::Plan& plan) {
  std::string start = report::kept_record(normal(options.report_file), 0);
  start.pop_back();
  if (options.report_file.empty() || plan.attempt.value_or(0) == 0 || !path.starts_with(start)) return false;
  const std::string number = path.substr(start.size(), path.find('/', start.size()) - start.size());
  return parse_int(number, 0, *plan.attempt - 1).has_value();
}

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kRead = "the job reads this file";
constexpr std::string_view kProgram = "the job runs this file";
constexpr const char* kDescriptors = "/proc/self/fd/";

/// A file that an option writes, or that no option may change.
struct NamedFile {
  NamedFile(std::string_view by, std::string named, std::string as = {})
      : option(by), path(std::move(named)), spelled(std::move(as)), descriptor(sys::named_descriptor(path)) {
    if (descriptor) spelled = sys::link_target(kDescriptors + std::to_string(*descriptor));
    if (spelled.empty()) spelled = path;
  }

  std::string_view option;  // that writes the file; of other files: the use, a sentence
  std::string path;         // of a written file: normalized
  std::string spelled;      // of a descriptor: the path of its file
  std::optional<int> descriptor;
};

bool is_written(const NamedFile& file) { return file.option.starts_with("--"); }

/// The files of this machine that no option may change: files that the job reads (of options, of --stage, and
/// programs), and stdin, stdout and stderr.
std::vector<NamedFile> all_used_files(const JobOptions& options, const std::vector<std::string>& of_options,
                                      const output::StandardStreams& streams, const plan::Plan& plan) {
  std::vector<NamedFile> all;
  const auto add = [&](std::string_view use, const std::string& path) {
    if (!path.empty()) all.emplace_back(use, path);
  };
  const auto add_reach = [&](const plan::Host& host) {
    add(kRead, host.reach.agent);
    add(kRead, host.reach.identity);
  };
  for (const std::string& path : of_options) add(kRead, path);
  for (const std::string& path : options.stage) add(kRead, path);
  add("dlaunch has this file as stdin", std::string(kDescriptors) + '0');
  add("dlaunch has this file as stdout", kDescriptors + std::to_string(streams.fd(Stream::out)));
  add("dlaunch has this file as stderr", kDescriptors + std::to_string(streams.fd(Stream::err)));
  std::ranges::for_each(plan.replacements, add_reach);
  std::ranges::for_each(plan.spare, add_reach);
  for (const plan::PlannedHost& host : plan.hosts) {
    add_reach(host.host);
    for (const plan::App& app : plan.apps) {
      if (!host.host.local || app.argv.empty()) continue;
      const std::filesystem::path from = plan::program_directory(app, host);
      const std::string& program = app.argv.front();
      const bool in_path = program.find('/') == std::string::npos;
      for (const std::string& place :
           in_path ? split(search_path(plan::program_environment(app, host)), ':') : std::vector<std::string>{""}) {
        add(kProgram, (from / place / program).string());
      }
    }
  }
  return all;
}

constexpr const char* kDifferent = "use different files";

/// Files below /dev may be regular files: check_linked_names() looks.
bool is_device(const NamedFile& file) {
  return file.descriptor || (file.path.starts_with("/dev/") && !file.path.starts_with("/dev/shm/"));
}

/// Whether the path has another meaning in another process, such as a process of the agent.
bool names_a_process(std::string_view path) { return path.starts_with("/proc/") || path.starts_with("/dev/fd/"); }

Error depends(std::string_view option) {
  return {.where = std::string(option),
          .what = "invalid path below /proc or /dev/fd",
          .why = "these names have other meanings in other processes",
          .hint = "use another path to the same directory"};
}

/// A file that dlaunch itself names.
bool is_in_rank_dir(const NamedFile& file) { return file.option == "--rank-dir" || file.option == "--save-env"; }

Error renames(std::string_view option, const std::string& renamed) {
  return conflict("--keep-logs", option, "the start of the job renames or removes " + escaped(renamed),
                  "set a path outside of that directory with " + std::string(option));
}

Error removes(std::string_view option, const std::string& dir) {
  const std::string hint = option == "--keep-logs" ? "set another log directory with --output-filename"
                                                   : "set another file with " + std::string(option);
  return conflict(option, "--rank-dir", "the start of the job removes all files in " + escaped(dir), hint);
}

/// The start of the job changes the directory of a file that no option writes.
Error moves_used(std::string_view option, const NamedFile& file, std::string_view change, const std::string& dir) {
  return conflict(option, escaped(file.spelled),
                  std::string(file.option).append(", and the start of the job ").append(change) + escaped(dir),
                  "use a file outside of that directory");
}

/// Later rounds whose log files may have one of the paths: a path of such a round has its number.
std::set<int> later_rounds(const std::vector<NamedFile>& files, const plan::Plan& plan) {
  std::set<int> rounds;
  for (const NamedFile& file : files) {
    if (is_log(file.option) || is_in_rank_dir(file) || file.option == "--error-file") continue;
    const std::string& name = file.spelled;
    for (size_t i = name.find_first_of(kDigits); i != name.npos; i = name.find_first_of(kDigits, i)) {
      const size_t end = std::min(name.find_first_not_of(kDigits, i), name.size());
      if (const auto round = parse_int(name.substr(i, end - i), 1, plan.restarts))
        rounds.insert(static_cast<int>(*round));
      i = end;
    }
  }
  return rounds;
}

void add_logs(std::vector<LogFile>& all, const JobOptions& options, const plan::Plan& plan,
              std::optional<int> later_round) {
  if (!options.output.files) return;
  output::FileSettings files = *options.output.files;
  files.job = plan.job_id;
  auto facts = launcher::rank_facts(plan);
  const int ranks = output::count_ranks(facts);
  for (int rank = 0; rank < static_cast<int>(facts.size()); ++rank) {
    output::RankFacts& of = at_index(facts, rank);
    if (later_round) of.round = later_round;
    for (const Stream stream : {Stream::out, Stream::err}) {
      if (!files.keeps(stream, of.local_rank)) continue;
      const std::string path = output::file_path(files, of, rank, ranks, stream);
      all.push_back({stream, normal(path), path});
    }
  }
}

}  // namespace

std::string renamed_directory(const output::OutputSettings& output) {
  if (!output.files || output.keep_logs == 0) return {};
  std::string directory = normal(output::locked_directory(*output.files));
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  return directory;
}

/// The files that the job writes; of later rounds, those that may be one of these files or of the files `used`.
static std::vector<NamedFile> named_files(const JobOptions& options, const std::string& pid_file,
                                          const plan::Plan& plan, const std::vector<NamedFile>& used) {
  std::vector<NamedFile> all;
  const auto add = [&](std::string_view option, const std::string& path, const std::string& spelled = {}) {
    if (!path.empty()) all.emplace_back(option, path, spelled);
  };
  add("--report", normal(options.report_file));
  add("--junit", normal(options.junit_file));
  add("--report-pid", normal(pid_file));
  if (!options.error_file.empty()) {
    for (const std::string& path : launcher::error_files(plan)) add("--error-file", normal(path));
  }
  for (const plan::Rank& rank : plan.ranks) {
    if (rank.dir.empty()) continue;
    add("--rank-dir", rank.dir + '/' + wire::kRankDirMarker);
    if (options.save_env) add("--save-env", rank.dir + '/' + wire::kEnvironmentFile);
  }
  std::vector<LogFile> logs = log_files(options, plan);
  std::vector<NamedFile> named = all;
  named.insert(named.end(), used.begin(), used.end());
  for (const int round : later_rounds(named, plan)) add_logs(logs, options, plan, round);
  for (const LogFile& file : logs) {
    const bool by_stream = options.output.files->by_stream;
    add(!by_stream                   ? "--output-filename"
        : file.stream == Stream::out ? "--stdout-file"
                                     : "--stderr-file",
        file.path, file.spelled);
  }
  return all;
}

std::vector<LogFile> log_files(const JobOptions& options, const plan::Plan& plan) {
  std::vector<LogFile> all;
  add_logs(all, options, plan, std::nullopt);
  return all;
}

Result<void> check_file_names(const JobOptions& options, const std::string& pid_file, const plan::Plan& plan) {
  const std::string logs = renamed_directory(options.output);
  const std::vector<NamedFile> named = named_files(options, pid_file, plan, {});
  std::vector<NamedFile> not_in_dirs{{"--keep-logs", logs}};
  for (const NamedFile& file : named) {
    const bool is_error_file = file.option == "--error-file";
    if ((is_in_rank_dir(file) || is_error_file) && names_a_process(file.path)) return fail(depends(file.option));
    if (!is_log(file.option) && !is_in_rank_dir(file) && !is_error_file) not_in_dirs.push_back(file);
  }
  for (const plan::Rank& rank : plan.ranks) {
    for (const NamedFile& file : not_in_dirs) {
      if (!rank.dir.empty() && file.path.starts_with(rank.dir + '/')) return fail(removes(file.option, rank.dir));
    }
  }
  // A job must not rename or remove its own files.
  for (const NamedFile& file : named) {
    if (is_log(file.option) || is_in_rank_dir(file)) continue;
    const std::string renamed = renamed_above(file.path, logs, options.output, 0);
    if (!renamed.empty()) return fail(renames(file.option, renamed));
  }
  for (const plan::Rank& rank : plan.ranks) {  // DIR may have rank directories
    const std::string renamed = renamed_above(rank.dir, logs, options.output, 1);
    if (!renamed.empty()) return fail(renames("--rank-dir", renamed));
  }
  std::map<std::string, std::string_view> option_of;
  for (const NamedFile& file : named) {
    if (is_kept_record(file.path, options, plan)) {
      return fail(conflict("--report", file.option,
                           "the record of an earlier attempt is renamed to " + escaped(file.path),
                           "use different files"));
    }
    if (is_device(file)) continue;
    const auto [other, is_new] = option_of.emplace(file.path, file.option);
    if (is_new || (is_log(file.option) && is_log(other->second))) continue;
    return fail(conflict(other->second, file.option, "both write " + escaped(file.path), kDifferent));
  }
  return {};
}

/// The files that the start of the job would remove or rename: used files, and written ones and programs through a
/// link. program_check.h finds the other programs missing. `found`: of the files, of the directory above `logs`, and of
/// the rank directories.
static Result<void> check_moved(const std::vector<NamedFile>& files, std::span<const FileIdentity> found,
                                const std::string& logs, const JobOptions& options, const plan::Plan& plan) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> dirs;  // by path without links
  for (size_t i = 0; i < plan.ranks.size(); ++i) dirs.emplace(found[files.size() + 1 + i].path, plan.ranks[i].dir);
  dirs.erase("");
  const std::string moved =
      logs.empty() ? "" : (fs::path(found[files.size()].path) / fs::path(logs).filename()).string();
  for (size_t i = 0; i < files.size(); ++i) {
    const NamedFile& file = files[i];
    const bool is_missing = found[i].file.find('/') != std::string::npos;
    if (is_in_rank_dir(file) || (file.option == kProgram && (is_missing || options.staged))) continue;
    for (fs::path above = found[i].path; above.has_relative_path(); above = above.parent_path()) {
      const auto dir = dirs.find(above.parent_path().string());
      const bool may_stay = is_written(file) || file.option == kProgram;
      if (dir == dirs.end() || (may_stay && file.path.starts_with(dir->second + '/'))) continue;
      return fail(is_written(file) ? removes(file.option, dir->second)
                                   : moves_used("--rank-dir", file, "removes all files in ", dir->second));
    }
    const std::string renamed = renamed_above(found[i].path, moved, options.output, 0);
    if (renamed.empty() || is_log(file.option) || file.option == kProgram) continue;
    return fail(is_written(file) ? renames(file.option, renamed)
                                 : moves_used("--keep-logs", file, "renames or removes ", renamed));
  }
  return {};
}

/// Whether two names of written files may mean one file. Descriptors may share their position in the file, or write at
/// its end.
static bool may_be_one(const NamedFile& a, const NamedFile& b, const JobOptions& options) {
  if (a.option == kRead || a.option == kProgram) return false;
  if (!a.descriptor && !b.descriptor) return is_log(a.option) && is_log(b.option) && a.spelled == b.spelled;
  if (a.descriptor && b.descriptor && sys::is_same_open_file(*a.descriptor, *b.descriptor)) return true;
  return std::ranges::all_of(std::array{&a, &b}, [&](const NamedFile* file) {
    if (file->descriptor) return sys::appends(*file->descriptor);
    return is_log(file->option) &&
           options.output.files->appends(file->option == "--stderr-file" ? Stream::err : Stream::out);
  });
}

static Error overwrites(const NamedFile& other, const NamedFile& file) {
  const std::string name = escaped(file.path);
  if (!is_written(other)) {
    return conflict(file.option, escaped(other.spelled),
                    std::string(other.option) + ", and would overwrite the same file as " + name,
                    "set another path with " + std::string(file.option));
  }
  return conflict(other.option, file.option, "both write the same file, as " + escaped(other.path) + " and " + name,
                  kDifferent);
}

Result<void> check_linked_names(const JobOptions& options, const std::string& pid_file,
                                const std::vector<std::string>& read_files, const output::StandardStreams& streams,
                                const plan::Plan& plan, const sys::Wait& wait) {
  const bool has_dirs = std::ranges::any_of(plan.ranks, [](const plan::Rank& rank) { return !rank.dir.empty(); });
  std::vector<NamedFile> files = all_used_files(options, read_files, streams, plan);
  const std::vector<NamedFile> written = named_files(options, pid_file, plan, files);
  if (written.empty()) return {};
  files.insert(files.end(), written.begin(), written.end());
  std::vector<std::string> paths;
  for (const NamedFile& file : files) paths.push_back(file.path);
  const std::string logs = renamed_directory(options.output);
  paths.push_back(std::filesystem::path(logs).parent_path().string());
  for (const plan::Rank& rank : plan.ranks) paths.push_back(rank.dir);
  const auto identities = file_identities(paths, has_dirs || !logs.empty(), wait);
  if (!identities) return {};  // the lock of a file reports the disk
  std::map<std::string, const NamedFile*> named;
  TRY(check_moved(files, *identities, logs, options, plan));
  for (size_t i = 0; i < files.size(); ++i) {
    const NamedFile& file = files[i];
    const std::string& identity = (*identities)[i].file;
    if (identity.empty()) continue;
    const auto [other, is_new] = named.emplace(identity, &file);
    if (is_new || !is_written(file) || may_be_one(*other->second, file, options)) continue;
    return fail(overwrites(*other->second, file));
  }
  return {};
}

}  // namespace dlaunch::session
