// Sends the agent any sequence of messages from the launcher, except messages that start processes or open given paths
// (Spawn, Prepare, Stage, RunCommands, QueryHost, PmixProgram). The agent must end with its link, use at most
// kMostMemory, and answer in frames. The kernel rejects exec in this process.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "agent/agent.h"
#include "agent/job_cgroup.h"
#include "agent/job_directory.h"
#include "allocated_bytes.h"
#include "messages.h"
#include "sys/io.h"
#include "wire/codec.h"

namespace {

using namespace dlaunch;
using fuzz::Input;
using fuzz::require;

constexpr size_t kMostMemory = 64u << 20;
constexpr int kTurns = 4;  // turns of the event loop for all effects of a message

/// The messages that may be sent. Names of files and of shared memory are texts without '/' and '.' (Input).
using Harmless =
    std::variant<wire::Setup, wire::Layout, wire::Program, wire::Stdin, wire::Credit, wire::WindowSize, wire::Pause,
                 wire::Signal, wire::Finish, wire::JobFile, wire::MpiWorld, wire::FenceOut, wire::NameAnswer,
                 wire::SpawnAnswer, wire::PmixShared, wire::PmixModexAsk, wire::PmixWorld, wire::PmixEvent,
                 wire::PmixAnswer, wire::Ping, wire::Hello, wire::Started, wire::Clean, wire::FenceIn>;

class Run {
 public:
  explicit Run(Input input) : input_(input), before_(allocated_bytes()) {
    auto [ours, agents] = sys::make_socketpair();
    link_ = std::move(ours);
    agents_ = std::move(agents);
    sys::set_nonblocking(link_.get());
  }

  void run() {
    agent::JobDirectory files;
    agent::JobCgroup cgroup;
    agent::AgentTag tag;
    sys::Fd out(::fcntl(agents_.get(), F_DUPFD_CLOEXEC, 3));
    agent::Agent agent(io_, std::move(agents_), std::move(out), rlimit{1024, 1024}, files, cgroup, tag);
    next(0);
    (void)agent.run(::getppid());
    files.remove();
    cgroup.remove();
  }

 private:
  /// Sends one message every kTurns turns of the loop, and closes the link at the input's end.
  void next(int turn) {
    asio::post(io_, [this, turn] {
      require(allocated_bytes() < before_ + kMostMemory);
      hear();
      if (turn < kTurns) return next(turn + 1);
      if (input_.empty() || !link_) return link_.reset();
      send(fuzz::any_of<Harmless>(input_));
      next(0);
    });
  }

  void send(const wire::Message& message) {
    std::string frame;
    try {
      wire::encode(message, frame);
    } catch (const std::length_error&) {  // longer than the limit of its type, so a launcher cannot send it
      return;
    }
    const ssize_t took = ::send(link_.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
    if (took != static_cast<ssize_t>(frame.size())) link_.reset();
  }

  void hear() {
    std::array<char, 4096> buffer;
    while (link_) {
      const ssize_t got = ::recv(link_.get(), buffer.data(), buffer.size(), 0);
      if (got == 0) link_.reset();
      if (got <= 0) return;
      decoder_.feed({buffer.data(), static_cast<size_t>(got)});
      for (;;) {
        const auto message = decoder_.next();
        require(message.has_value());
        if (!*message) break;
        require(!std::holds_alternative<wire::Started>(**message));
      }
    }
  }

  Input input_;
  const size_t before_;
  asio::io_context io_{1};
  sys::Fd link_, agents_;
  wire::Decoder decoder_;
};

void forbid_execution() {
  constexpr auto kRefused = static_cast<std::uint32_t>(SECCOMP_RET_ERRNO | EPERM);
  std::array<sock_filter, 5> code{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SYS_execve},
      {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_execveat},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
      {BPF_RET | BPF_K, 0, 0, kRefused},
  }};
  const sock_fprog program{code.size(), code.data()};
  require(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  require(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  std::signal(SIGPIPE, SIG_IGN);  // as main does
  forbid_execution();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  Run(Input(data, size, "/.")).run();
  return 0;
}
