#include "launcher/program_check.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/environment.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "launcher/frames.h"
#include "output/file_layout.h"
#include "sys/clock.h"
#include "sys/files.h"
#include "wire/archive.h"

namespace dlaunch::launcher {
namespace {

namespace fs = std::filesystem;

bool has_slash(const std::string& program) { return program.find('/') != std::string::npos; }

}  // namespace

bool ProgramCheck::changes_files() const {
  const bool has_dirs = !plan_.ranks.empty() && !plan_.ranks.front().dir.empty();
  return has_dirs || options_.output.files || !error_files(plan_).empty();
}

ProgramCheck::ProgramCheck(const plan::Plan& plan, const JobOptions& options) : plan_(plan), options_(options) {
  if (!options.staged || !changes_files()) return;
  constexpr size_t kStart = 256;  // the kernel reads no more of a program
  wire::ArchiveItem file;
  std::string start;
  const auto look = [&](const wire::ArchiveItem& item) -> Result<void> {
    file = item;
    start.clear();
    has_staged_links_ = has_staged_links_ || item.kind == wire::ArchiveItem::Kind::link;
    staged_.insert(fs::path(item.name).filename());
    return {};
  };
  const auto read = [&](std::string_view bytes) {
    start += bytes.substr(0, kStart - start.size());
    return Result<void>();
  };
  const auto end = [&] {
    if (file.kind == wire::ArchiveItem::Kind::file)
      staged_programs_[file.name] = (file.permissions & 0111u) == 0 ? EACCES : sys::is_mere_text(start) ? ENOEXEC : 0;
    return Result<void>();
  };
  if (!wire::ArchiveReader({look, read, end}).feed(*options.staged)) has_staged_links_ = true;
}

/// Whether the program may be in a rank directory: a staged file has the name, or a staged link may lead to the
/// program.
bool ProgramCheck::may_be_staged(const std::string& program) const {
  return has_staged_links_ || staged_.contains(fs::path(program).filename());
}

/// The errno of the start of a staged program; 0: it can start, or is not staged. Ranks of earlier rounds may have
/// changed the file.
int ProgramCheck::error_of_staged(const plan::Rank& rank, const std::string& place) const {
  if (plan_.round > 0 || has_staged_links_ || !place.starts_with(rank.dir + '/')) return 0;
  const auto found = staged_programs_.find(place.substr(rank.dir.size() + 1));
  return found == staged_programs_.end() ? 0 : found->second;
}

/// Whether the start of the first round removes or renames the file: an old file in a rank directory, or in a log
/// directory of --keep-logs.
bool ProgramCheck::is_removed(const plan::Rank& rank, const std::string& program) const {
  if (plan_.round > 0) return false;
  const std::string place = fs::path(program).lexically_normal().string();
  const auto is_below = [&](const std::string& directory) {
    return !directory.empty() && place.starts_with(directory.ends_with('/') ? directory : directory + '/');
  };
  if (options_.output.files && options_.output.keep_logs > 0 &&
      is_below(output::locked_directory(*options_.output.files))) {
    return true;
  }
  return std::ranges::any_of(plan_.host(rank.host).ranks, [&](int each) { return is_below(plan_.rank(each).dir); });
}

/// Whether only the rank's own directory, which does not exist yet, decides about the program.
bool ProgramCheck::is_unknown(const plan::Rank& rank, const std::string& path) const {
  const std::string& program = plan_.app_of(rank).argv.front();
  const auto in_own_directory = [](const std::string& each) { return !each.starts_with('/'); };
  if (rank.dir.empty()) return false;
  if (!has_slash(program) && std::ranges::any_of(split(path, ':'), in_own_directory)) return true;
  return may_be_staged(program);
}

std::vector<wire::QueryHost> ProgramCheck::ask(int host) {
  if (asked_.contains(host) || !changes_files()) return {};
  const plan::PlannedHost& planned = plan_.host(host);
  std::map<int, std::string> paths;  // by app
  std::vector<Asked> questions;
  for (const int number : planned.ranks) {
    const plan::Rank& rank = plan_.rank(number);
    const plan::App& app = plan_.app(rank.app);
    if (app.argv.empty()) continue;
    const auto [path, is_new] = paths.try_emplace(rank.app);
    if (is_new) path->second = search_path(plan::program_environment(app, planned));
    add(number, path->second, questions);
  }
  std::vector<wire::QueryHost> queries;
  for (const Asked& each : questions) queries.push_back(each.query);
  asked_.emplace(host, std::deque(questions.begin(), questions.end()));
  return queries;
}

void ProgramCheck::add(int number, const std::string& path, std::vector<Asked>& questions) {
  const plan::Rank& rank = plan_.rank(number);
  std::string program = plan_.app_of(rank).argv.front();
  const std::string& directory = plan::program_directory(plan_.app_of(rank), plan_.host_of(rank));
  const std::string& from = rank.dir.empty() ? directory : rank.dir;
  const std::string place = program.starts_with('/') ? program : from + '/' + program;
  const std::string in_dir = fs::path(place).lexically_normal().string();
  if (is_unknown(rank, path)) {
    const int error = has_slash(program) ? error_of_staged(rank, in_dir) : 0;
    if (error != 0) refuse({number}, error, std::string(kCannotExecute) + program);
    program.clear();  // the question is about the directory above the rank directory
  } else if (has_slash(program) && is_removed(rank, place)) {
    refuse({number}, ENOENT, std::string(kCannotExecute) + program + " (from " + from + ")");
    program.clear();
  } else if (has_slash(program) && !rank.dir.empty()) {
    program = in_dir;
  }
  const bool is_above = directory != "/" && !rank.dir.empty() && rank.dir.starts_with(directory);
  if (program.empty() && !is_above) return;
  auto question = std::ranges::find(questions, path, [](const Asked& each) { return each.query.path; });
  if (question == questions.end()) {
    question = questions.insert(questions.end(), Asked{});
    question->query.path = path;
    question->query.no_devices = true;
  }
  wire::QueryHost& query = question->query;
  size_t at = 0;
  while (at < query.programs.size() && (query.programs[at] != program || query.wdirs[at] != directory)) ++at;
  if (at == query.programs.size()) {
    query.programs.push_back(std::move(program));
    query.wdirs.push_back(directory);
    question->ranks.emplace_back();
  }
  question->ranks[at].push_back(number);
}

std::string ProgramCheck::take(int host, const wire::HostInfo& answer) {
  const auto asked = asked_.find(host);
  if (asked == asked_.end() || asked->second.empty()) return {};
  const Asked question = std::move(asked->second.front());
  asked->second.pop_front();
  const size_t programs = question.query.programs.size();
  if (answer.missing.size() != programs || answer.program_errors.size() != programs ||
      answer.wdir_errors.size() != programs) {
    return "protocol error: unexpected reply from the agent";
  }
  for (size_t i = 0; i < programs; ++i) {
    const std::string& directory = question.query.wdirs[i];
    const auto unusable = static_cast<int>(answer.wdir_errors[i]);
    const std::string& dir = plan_.rank(question.ranks[i].front()).dir;
    if ((dir.empty() || dir.starts_with(directory)) && unusable != 0) {
      lacks_directory_ = lacks_directory_ || !dir.empty();
      refuse(question.ranks[i], unusable, std::string(kCannotEnterWorkingDirectory) + directory);
    } else if (!answer.missing[i].empty()) {
      refuse(question.ranks[i], static_cast<int>(answer.program_errors[i]), answer.missing[i]);
    }
  }
  return {};
}

void ProgramCheck::refuse(const std::vector<int>& ranks, int error, const std::string& what) {
  for (const int rank : ranks) {
    refused_.insert_or_assign(rank, job::RankEnded{rank, ExitStatus(NotStarted{error, what}), sys::wall_ns()});
  }
}

bool ProgramCheck::waits() const {
  return std::ranges::any_of(asked_, [](const auto& each) { return !each.second.empty(); });
}

std::vector<job::RankEnded> ProgramCheck::refused() const {
  std::vector<job::RankEnded> ends;
  const bool may_run = !options_.policy.abort_on_failure && !lacks_directory_ && refused_.size() < plan_.ranks.size();
  if (may_run) return ends;
  for (const auto& [rank, end] : refused_) ends.push_back(end);
  return ends;
}

}  // namespace dlaunch::launcher
