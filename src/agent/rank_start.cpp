#include "agent/rank_start.h"

#include <cerrno>

#include "base/start_texts.h"
#include "plan/mpi.h"

namespace dlaunch::agent {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  std::vector<char*> list;
  list.reserve(first.size() + second.size() + 1);
  for (const auto* strings : {&first, &second}) {
    for (const std::string& s : *strings) list.push_back(const_cast<char*>(s.c_str()));  // execve does not write
  }
  list.push_back(nullptr);
  return list;
}

std::string text_of(const SpawnFailure& failure, const RankProgram& program) {
  switch (failure.step) {
    case SpawnStep::fork:
      return "cannot create a process for " + program.app->asked.argv[0];
    case SpawnStep::session:
      return "cannot create its session and descriptors";
    case SpawnStep::mpi:
      return "cannot create its MPI connection descriptor " + std::to_string(plan::kPmiFd);
    case SpawnStep::terminal:
      return "cannot set its controlling terminal";
    case SpawnStep::limits:
      return "cannot set its limit of open files";
    case SpawnStep::affinity:
      return "cannot bind it to its CPUs";
    case SpawnStep::directory:
      return std::string(kCannotEnterWorkingDirectory) + program.directory;
    case SpawnStep::exec:
      return failure.error == ENOENT ? missing_interpreter(program.path, program.directory)
                                     : std::string(kCannotExecute) + program.path;
  }
  return {};
}

}  // namespace

tl::expected<std::string, Refusal> path_of(const LocalApp& app, const wire::Spawn& spawn) {
  if (spawn.dir.empty() || app.asked.argv.empty()) return app.path;
  return find_program(app.asked.argv[0], app.asked.env, spawn.dir);
}

Refusal refusal(const SpawnFailure& failure, const RankProgram& program) {
  return {failure.error, text_of(failure, program)};
}

void RankStart::complete(int cgroup, const rlimit& open_files, bool wait) {
  argv = pointers(program.app->asked.argv, {});
  envp = pointers(program.app->asked.env, env);
  launch = {.path = program.path.c_str(),
            .argv = argv.data(),
            .envp = envp.data(),
            .wdir = program.directory.c_str(),
            .directory = directory,
            .in = stdio.child_in.get(),
            .out = stdio.child_out.get(),
            .err = stdio.child_err.get(),
            .cgroup = cgroup,
            .mpi = mpi.get(),
            .terminal = stdio.terminal,
            .affinity = affinity,
            .open_files = open_files,
            .wait = wait};
}

}  // namespace dlaunch::agent
