#include "report/rank_groups.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/shared_texts.h"
#include "base/text.h"
#include "report/summary.h"

namespace dlaunch::report {
namespace {

void add_to_group(const job::RankRecord& record, int rank, RankGroups& groups) {
  if (!record.status) {
    auto& unstarted = record.unheard ? groups.start_unknown : groups.never_started;
    (record.pid == 0 ? unstarted : groups.unknown).insert(rank);
    if (record.pid != 0 && record.unheard) groups.unheard.insert(rank);
  } else if (record.ended_by_us) {
    groups.stopped.insert(rank);
    if (record.needed_kill) ++groups.needed_kill;
  } else if (std::holds_alternative<Lost>(record.status->value())) {
    groups.lost.insert(rank);
    if (record.needed_kill) groups.stuck.insert(rank);
  } else if (!record.status->ok()) {
    groups.failed[record.status->describe()].insert(rank);
  }
}

/// The reason of a rank that did not start, without the directory, which differs between ranks.
std::pair<int, std::string> reason_of(const NotStarted& status) {
  return {status.error, status.what.substr(0, status.what.find(" (from "))};
}

std::string hosts_of(const plan::Plan& plan, const std::set<int>& ranks) {
  std::set<int> hosts;
  for (const int rank : ranks) hosts.insert(plan.ranks.at(static_cast<size_t>(rank)).host);
  std::vector<std::string> names;
  for (const int host : hosts) names.push_back(plan.hosts.at(static_cast<size_t>(host)).host.name);
  return fold_names(names);
}

}  // namespace

std::string ranks_text(const Worlds& worlds, const std::set<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + worlds.fold(ranks);
}

ExitStatus status_of(const job::RankRecord& record) {
  return record.status.value_or(ExitStatus(Lost{"its exit status is unknown"}));
}

bool is_missing_interpreter(const NotStarted& status) {
  return status.what.starts_with(kCannotExecute) && status.what.find(kMissingInterpreter) != std::string::npos;
}

std::set<int> not_started_alike(const plan::Plan& plan, const job::Outcome& outcome) {
  if (outcome.cause != job::Cause::rank_failed) return {};
  const int first = outcome.first_failure.value_or(0);
  const ExitStatus status = status_of(outcome.ranks.at(static_cast<size_t>(first)));
  const auto* cause = std::get_if<NotStarted>(&status.value());
  if (!cause) return {};
  const auto app_of = [&](int rank) { return plan.ranks.at(static_cast<size_t>(rank)).app; };
  std::set<int> alike;
  for (int rank = 0; rank < static_cast<int>(outcome.ranks.size()); ++rank) {
    const auto& other = outcome.ranks.at(static_cast<size_t>(rank)).status;
    const auto* reason = other ? std::get_if<NotStarted>(&other->value()) : nullptr;
    if (reason && app_of(rank) == app_of(first) && reason_of(*reason) == reason_of(*cause)) alike.insert(rank);
  }
  return alike;
}

RankGroups group_ranks(const job::Outcome& outcome, const std::set<int>& named) {
  RankGroups groups;
  for (size_t i = 0; i < outcome.ranks.size(); ++i) {
    const int rank = static_cast<int>(i);
    const bool is_first = rank == outcome.first_failure && outcome.cause == job::Cause::rank_failed;
    if (!is_first && !named.contains(rank)) add_to_group(outcome.ranks[i], rank, groups);
  }
  return groups;
}

std::string not_started_text(const plan::Plan& plan, const std::set<int>& alike, const NotStarted& status) {
  const plan::Rank& first = plan.ranks.at(static_cast<size_t>(*alike.begin()));
  const plan::App& app = plan.apps.at(static_cast<size_t>(first.app));
  const std::string name = app.argv.empty() ? "" : app.argv[0];
  const std::string program = "program \"" + name + "\"";
  const auto of_app = [&](const plan::Rank& rank) { return rank.app == first.app; };
  const bool all = std::ranges::count_if(plan.ranks, of_app) == static_cast<std::ptrdiff_t>(alike.size());
  const std::string whose = all ? "" : " (" + ranks_text(plan.worlds, alike) + ")";
  const std::string hosts = hosts_of(plan, alike);
  const bool about_file = status.what.starts_with(kCannotExecute) && !is_missing_interpreter(status);
  if (status.error == ENOENT && (about_file || status.what.starts_with(kProgram))) {
    return program + ": not found on " + hosts + whose;
  }
  const std::string why = status.error == 0 ? "" : std::string(": ") + std::strerror(status.error);
  const std::string file = reason_of(status).second;
  if (about_file) {
    const std::string found = file.substr(kCannotExecute.size());
    return "cannot run " + program + " on " + hosts + whose + (found == name ? "" : ": " + found) + why;
  }
  if (alike.size() == 1) return {};
  return ranks_text(plan.worlds, alike) + " (" + (hosts.find_first_of("[,") == std::string::npos ? "host " : "hosts ") +
         hosts + ") " + ExitStatus(status).describe();
}

namespace {

/// "run python3 train.py" for the name of a script, else an empty text.
std::string interpreter_hint(std::string_view program) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kInterpreters{
      {{".py", "python3"}, {".sh", "sh"}, {".pl", "perl"}, {".R", "Rscript"}, {".jl", "julia"}, {".rb", "ruby"}}};
  const auto known =
      std::ranges::find_if(kInterpreters, [&](const auto& each) { return program.ends_with(each.first); });
  return known == kInterpreters.end() ? "" : "run " + std::string(known->second) + ' ' + shell_quote(program);
}

/// The hint for a program name that is a shell command: 'echo a | tr a b'. A '/' in the first word means a path.
std::string shell_hint(std::string_view program) {
  if (program.find_first_of(" \t\n|&;<>()$`*?") == std::string_view::npos) return {};
  if (program.substr(0, program.find_first_of(" \t\n")).find('/') != std::string_view::npos) return {};
  return "run the command in a shell: sh -c " + shell_quote(program);
}

/// The hint for a program name that starts with a dash of a word processor: U+2013, U+2014 or U+2212.
std::string dash_hint(std::string_view program) {
  constexpr std::array<std::string_view, 3> kDashes{"\u2013", "\u2014", "\u2212"};
  std::string_view name = program;
  for (bool again = true; again;) {
    const auto dash = std::ranges::find_if(kDashes, [&](std::string_view each) { return name.starts_with(each); });
    again = dash != kDashes.end();
    if (again) name.remove_prefix(dash->size());
  }
  if (name.size() == program.size()) return {};
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  return (name.size() == 1 ? "use an ASCII dash: -" : "use two ASCII dashes: --") + std::string(name);
}

/// The hint for the name of a subcommand, or for a typing error in a name.
std::string subcommand_hint(std::string_view program, const std::vector<std::string>& subcommands) {
  const auto near = nearest(program, subcommands);
  if (!near) return {};
  if (*near == program) return "put the subcommand first: dlaunch " + *near;
  return "use dlaunch " + *near + " for the subcommand; for a program, check its name and PATH";
}

/// The hint for an output file of the rank.
std::string output_hint(int error) {
  if (error == EACCES || error == EPERM || error == EROFS) return "use a directory that you may write to";
  return "check the directory of the output file on the rank's host";
}

std::string not_found_hint(const NotStarted& status, std::string_view program, std::string_view wdir, bool has_path,
                           const std::vector<std::string>& subcommands) {
  if (std::string hint = dash_hint(program); !hint.empty()) return hint;
  if (std::string hint = shell_hint(program); !hint.empty()) return hint;
  if (program.find('/') == std::string_view::npos) {
    if (std::string hint = interpreter_hint(program); !hint.empty()) return hint;
    if (std::string hint = subcommand_hint(program, subcommands); !hint.empty()) return hint;
    const std::string dotted = shell_quote("./" + std::string(program));
    if (!has_path) return "give the program's path, or pass PATH with -x PATH: the ranks have no PATH";
    if (status.what.ends_with(std::string(kInWorkingDirectory).append(program))) {
      return "run " + dotted + ": the program is in the working directory, which is not in PATH";
    }
    return "check the name and PATH; write " + dotted + " for a program in the working directory";
  }
  if (program.front() != '/') {
    return "check the path: a relative path starts in the working directory " + shell_quote(wdir) +
           "; set another with --wdir";
  }
  return "check the path on the rank's host";
}

std::string not_executable_hint(std::string_view program) {
  const std::string file = shell_quote(program);
  const std::string interpreter = interpreter_hint(program);
  if (interpreter.empty()) return "run chmod +x " + file + ", or start the file with its interpreter: python3 FILE";
  return interpreter + ", or make it executable: chmod +x " + file;
}

}  // namespace

std::string not_started_hint(const NotStarted& status, std::string_view program, std::string_view wdir, bool has_path,
                             const std::vector<std::string>& subcommands) {
  if (is_missing_interpreter(status)) {
    return "check the interpreter (#!) and the line end (LF) in the first line of a script, "
           "or the dynamic loader of a binary";
  }
  if (status.what.starts_with(kCannotEnterWorkingDirectory)) {
    return "check that the directory exists on the rank's host and that you may enter it; set another with --wdir";
  }
  if (status.what.starts_with(kCannotEnter)) return "check the permissions of the directory on the rank's host";
  if (status.what.starts_with("cannot open the rank's std") && status.error != EMFILE && status.error != ENFILE) {
    return output_hint(status.error);
  }
  // A file of the job, as --save-env.
  const bool is_file = status.what.starts_with("cannot write ") || status.what.starts_with("cannot create /");
  switch (status.error) {
    case ENOENT:
    case ENOTDIR:
      if (is_file) return "check that the directory of the file exists on the rank's host";
      return not_found_hint(status, program, wdir, has_path, subcommands);
    case EACCES:
      if (is_file) return output_hint(status.error);
      return not_executable_hint(program);
    case ENOEXEC:
      return "add a first line such as #!/bin/sh to a script; check a binary's CPU type";
    case E2BIG:
      return "give fewer or shorter arguments and variables, or put them into a file";
    case EMFILE:
    case ENFILE:
      return "set a higher limit of open files: ulimit -n";
    case EAGAIN:
      return "set a higher limit of processes: ulimit -u, or pids.max of the cgroup";
    case ENOMEM:
      return "start fewer ranks on the host: its memory is used up";
    default:
      return {};
  }
}

}  // namespace dlaunch::report
