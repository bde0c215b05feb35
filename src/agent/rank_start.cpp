#include "agent/rank_start.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/environment.h"
#include "base/shared_texts.h"
#include "place/variables.h"
#include "plan/mpi.h"
#include "sys/files.h"
#include "sys/io.h"
#include "wire/archive.h"

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
      return "cannot create the rank's session and descriptors";
    case SpawnStep::mpi:
      return "cannot create the rank's MPI connection, descriptor " + std::to_string(plan::kPmiFd);
    case SpawnStep::terminal:
      return "cannot set the rank's controlling terminal";
    case SpawnStep::limits:
      return "cannot set the rank's limit of open files";
    case SpawnStep::affinity:
      return "cannot bind the rank to its CPUs";
    case SpawnStep::directory:
      return std::string(kCannotEnterWorkingDirectory) + program.directory;
    case SpawnStep::environment:
      return "cannot write " + program.directory + '/' + wire::kEnvironmentFile;
    case SpawnStep::exec:
      return failure.error == ENOENT ? missing_interpreter(program.path, program.directory)
                                     : std::string(kCannotExecute) + program.path;
  }
  return {};
}

using wire::StreamMode;

sys::Fd duplicate(const sys::Fd& fd) { return sys::Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }

sys::Fd open_null(int flags) { return sys::Fd(::open("/dev/null", flags | O_CLOEXEC)); }

/// Opens a pseudo-terminal. Without `keys` it passes bytes unchanged: no echo of stdin, and "\n" stays "\n".
bool open_terminal(Stdio& stdio, wire::WindowSize size, bool keys) {
  stdio.out.reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  char name[128];
  if (!stdio.out || ::grantpt(stdio.out.get()) != 0 || ::unlockpt(stdio.out.get()) != 0 ||
      ::ptsname_r(stdio.out.get(), name, sizeof name) != 0) {
    return false;
  }
  stdio.child_out.reset(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios settings{};
  if (!stdio.child_out || ::tcgetattr(stdio.child_out.get(), &settings) != 0) return false;
  if (keys) {
    settings.c_iflag |= IUTF8;  // so that Backspace removes a whole character
  } else {
    settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);
    settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  }
  if (::tcsetattr(stdio.child_out.get(), TCSANOW, &settings) != 0) return false;
  if (size.rows > 0) resize_terminal(stdio.out.get(), size);
  stdio.terminal = true;
  return true;
}

/// An empty file keeps the time of its last change, because a new time means to the launcher that the rank wrote.
sys::Fd open_file(const std::string& path) {
  sys::Fd file = sys::create_file(path, O_APPEND);
  struct stat facts{};
  const bool old = file && ::fstat(file.get(), &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0;
  return old && ::ftruncate(file.get(), 0) != 0 ? sys::Fd() : std::move(file);
}

bool open_output(StreamMode mode, const std::string& path, sys::Fd& child, sys::Fd& ours) {
  if (mode == StreamMode::null) {
    child = open_null(O_WRONLY);
  } else if (mode == StreamMode::file) {
    child = open_file(path);
    if (child) ::fcntl(child.get(), F_SETFL, O_APPEND);  // the rank's writes block, as on any file
  } else {
    sys::Pipe pipe = sys::make_pipe();
    child = std::move(pipe.write);
    ours = std::move(pipe.read);
  }
  return static_cast<bool>(child);
}

bool open_input(StreamMode mode, Stdio& stdio) {
  if (mode == StreamMode::null) {
    stdio.child_in = open_null(O_RDONLY);
  } else if (stdio.terminal) {
    stdio.child_in = duplicate(stdio.child_out);
    stdio.in = duplicate(stdio.out);
  } else {
    sys::Pipe pipe = sys::make_pipe();
    stdio.child_in = std::move(pipe.read);
    stdio.in = std::move(pipe.write);
  }
  return static_cast<bool>(stdio.child_in);
}

tl::unexpected<Refusal> failure(const std::string& what) {
  return tl::unexpected<Refusal>({errno, errno == EMFILE ? what + " (ulimit -n is too low on this host)" : what});
}

}  // namespace

tl::expected<std::string, Refusal> path_of(const LocalApp& app, const wire::Spawn& spawn) {
  if (spawn.dir.empty() || app.asked.argv.empty()) return app.path;
  return find_program(app.asked.argv[0], app.asked.env, spawn.dir);
}

Refusal refusal(const SpawnFailure& failure, const RankProgram& program) {
  return {failure.error, text_of(failure, program)};
}

char* RankStart::reserve_own_pid() {
  const auto entry = std::ranges::find_if(env, place::is_pid_of_srun_task, variable_name);
  if (entry == env.end()) return nullptr;
  const size_t name = entry->find('=') + 1;
  entry->resize(name + kPidDigits + 1);
  return entry->data() + name;
}

void RankStart::complete(int cgroup, const rlimit& open_files, bool wait) {
  char* const own_pid = reserve_own_pid();
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
            .own_pid = own_pid,
            .saved_in = saved_in ? &saved_in : nullptr,
            .wait = wait && !saved_in};  // the disk may hang
}

tl::expected<Stdio, Refusal> open_stdio(const wire::Spawn& spawn, wire::WindowSize size) {
  Stdio stdio;
  const bool out = spawn.out == StreamMode::pty ? open_terminal(stdio, size, spawn.in == StreamMode::pty)
                                                : open_output(spawn.out, spawn.out_path, stdio.child_out, stdio.out);
  if (!out) return failure("cannot open the rank's stdout " + spawn.out_path);
  if (spawn.err == StreamMode::joined || spawn.err == StreamMode::pty) {
    stdio.child_err = duplicate(stdio.child_out);
  } else if (!open_output(spawn.err, spawn.err_path, stdio.child_err, stdio.err)) {
    return failure("cannot open the rank's stderr " + spawn.err_path);
  }
  if (!stdio.child_err) return failure("cannot open the rank's stderr");
  if (!open_input(spawn.in, stdio)) return failure("cannot open the rank's stdin");
  return stdio;
}

void resize_terminal(int fd, wire::WindowSize size) {
  const winsize window{size.rows, size.columns, 0, 0};
  ::ioctl(fd, TIOCSWINSZ, &window);
}

}  // namespace dlaunch::agent
