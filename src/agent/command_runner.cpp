#include "agent/command_runner.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include "agent/program.h"
#include "base/lifetime.h"
#include "base/text.h"
#include "dlaunch/exit_status.h"
#include "link/timer.h"
#include "sys/io.h"

namespace dlaunch::agent {

struct CommandRunner::Run {
  Run(asio::io_context& io, size_t its_command, pid_t its_pid, sys::Fd fd)
      : command(its_command), pid(its_pid), pipe(io, fd.release()) {}

  size_t command;
  pid_t pid;
  asio::posix::stream_descriptor pipe;
  std::array<char, 4096> buffer{};
  bool silent = false;  // the pipe has ended
  std::optional<int> wait_status;
  const Lifetime lifetime;
};

CommandRunner::CommandRunner(asio::io_context& io, link::Link& link, const rlimit& open_files)
    : io_(io), link_(link), open_files_(open_files), deadline_(io) {}
CommandRunner::~CommandRunner() = default;

void CommandRunner::ask(wire::RunCommands&& request) {
  stop();
  request_ = std::move(request);
  results_ = {};
  results_.printed.resize(request_.commands.size());
  results_.codes.resize(request_.commands.size(), static_cast<std::uint32_t>(kExitTimeout));
  next_ = 0;
  requested_ = true;
  deadline_.expires_after(std::chrono::milliseconds(request_.patience_ms));
  deadline_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (link::is_due(error, deadline_) && requested_) send_results();
  }));
  start_next();
}

void CommandRunner::stop() {
  requested_ = false;
  deadline_.cancel();
  for (const auto& run : runs_) {
    if (run->wait_status) continue;
    if (::kill(-run->pid, SIGKILL) != 0) ::kill(run->pid, SIGKILL);  // if the child does not lead its group yet
  }
  runs_.clear();
}

void CommandRunner::start_next() {
  while (requested_ && runs_.size() < kAtOnce && next_ < request_.commands.size()) start(next_++);
  if (requested_ && runs_.empty()) send_results();
}

void CommandRunner::start(size_t index) {
  std::vector<std::string> words = split(request_.commands[index], '\n');
  const auto program = find_program(words.front(), {"PATH=" + request_.path}, "/");
  if (!program) {
    results_.codes[index] = static_cast<std::uint32_t>(kExitNotFound);
    results_.printed[index] = program.error().what;
    return;
  }
  const sys::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  sys::Pipe pipe = sys::make_pipe();
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  Launch launch;
  launch.path = program->c_str();
  launch.argv = argv.data();
  launch.envp = environ;
  launch.wdir = "/";
  launch.in = null.get();
  launch.out = launch.err = pipe.write.get();
  launch.open_files = open_files_;
  const auto child = null && pipe.read ? spawner_.spawn(launch) : ProcessSpawner::Child{};
  if (child.pid < 0) {
    results_.codes[index] = static_cast<std::uint32_t>(kExitNotExecutable);
    return;
  }
  runs_.push_back(std::make_unique<Run>(io_, index, child.pid, std::move(pipe.read)));
  read(*runs_.back());
}

void CommandRunner::read(Run& run) {
  const auto took = [this, &run](asio::error_code error, size_t size) {
    if (error == asio::error::operation_aborted) return;
    std::string& text = results_.printed[run.command];
    const size_t kept = std::min({size, kLongestAnswer - text.size(), kMostPrinted - printed_});
    text.append(run.buffer.data(), kept);
    printed_ += kept;
    if (!error) return read(run);
    run.silent = true;
    settle(run);
  };
  run.pipe.async_read_some(asio::buffer(run.buffer), run.lifetime.guard(took));
}

bool CommandRunner::reaped(pid_t pid, int wait_status) {
  const auto found = std::ranges::find(runs_, pid, [](const auto& run) { return run->pid; });
  if (found == runs_.end()) return false;
  (*found)->wait_status = wait_status;
  settle(**found);
  return true;
}

void CommandRunner::settle(Run& run) {
  if (!run.silent || !run.wait_status) return;
  results_.codes[run.command] = static_cast<std::uint32_t>(ExitStatus::from_wait(*run.wait_status).shell_code());
  std::erase_if(runs_, [&](const auto& each) { return each.get() == &run; });
  start_next();
}

/// Sends the answer; commands that still run keep the code of a timeout.
void CommandRunner::send_results() {
  stop();
  link_.send(std::exchange(results_, {}));
}

}  // namespace dlaunch::agent
