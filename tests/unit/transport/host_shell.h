// A real shell with its own home that receives the bootstrap script like a host's shell, and a fake agent.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sys/io.h"
#include "transport/bootstrap.h"

namespace dlaunch::transport {

/// A temporary directory for homes, removed by the destructor.
class Homes {
 public:
  Homes() {
    std::string name = (std::filesystem::temp_directory_path() / "dlaunch-bootstrap-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Homes() { std::filesystem::remove_all(path); }
  Homes(const Homes&) = delete;
  Homes& operator=(const Homes&) = delete;

  std::filesystem::path path;
};

struct Login {
  std::vector<std::string> shell = {"/bin/sh"};  ///< the program and its arguments
  std::string home;                              ///< empty: HOME is not set
  std::string cache;                             ///< empty: XDG_CACHE_HOME is not set
  std::string path;                              ///< empty: PATH of the test
  std::string temporary = {};                    ///< empty: TMPDIR is not an absolute path
  mode_t mask = 022;
};

class HostShell {
 public:
  explicit HostShell(const Login& login) {
    sys::Pipe in = sys::make_pipe();
    sys::Pipe out = sys::make_pipe();
    std::vector<std::string> words = login.shell;
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    if (argv.size() == 1) argv[0] = const_cast<char*>("sh");
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in.read.get(), 0);
      ::dup2(out.write.get(), 1);
      login.home.empty() ? ::unsetenv("HOME") : ::setenv("HOME", login.home.c_str(), 1);
      login.cache.empty() ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", login.cache.c_str(), 1);
      ::setenv("TMPDIR", login.temporary.empty() ? "." : login.temporary.c_str(), 1);
      if (!login.path.empty()) ::setenv("PATH", login.path.c_str(), 1);
      ::umask(login.mask);
      ::execv(login.shell[0].c_str(), argv.data());
      ::_exit(127);
    }
    in_ = std::move(in.write);
    out_ = std::move(out.read);
  }
  ~HostShell() {
    in_.reset();
    ::waitpid(pid_, nullptr, 0);
  }
  HostShell(const HostShell&) = delete;
  HostShell& operator=(const HostShell&) = delete;

  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t took = ::write(in_.get(), text.data(), text.size());
      if (took <= 0) return;
      text.remove_prefix(static_cast<size_t>(took));
    }
  }

  /// Feeds the shell's output to the bootstrap until its next step is known.
  Bootstrap::Next until(Bootstrap& bootstrap) const {
    char buffer[4096];
    for (;;) {
      const ssize_t got = ::read(out_.get(), buffer, sizeof buffer);
      if (got <= 0) return Bootstrap::Next::failed;
      const auto next = bootstrap.feed({buffer, static_cast<size_t>(got)});
      if (next != Bootstrap::Next::wait) return next;
    }
  }

  /// Returns the rest of its output, up to its end.
  std::string rest() const {
    std::string said;
    char buffer[4096];
    for (ssize_t got; (got = ::read(out_.get(), buffer, sizeof buffer)) > 0;)
      said.append(buffer, static_cast<size_t>(got));
    return said;
  }

 private:
  pid_t pid_ = 0;
  sys::Fd in_, out_;
};

/// Returns the first line that `tool` prints for `bytes` on its stdin.
inline std::string first_line_of(const std::string& tool, std::string_view bytes) {
  const std::string path = testing::TempDir() + "dlaunch-said-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary) << bytes;
  FILE* const pipe = ::popen((tool + " <" + path).c_str(), "r");
  std::string line;
  for (int c; (c = std::fgetc(pipe)) != EOF && c != '\n';) line += static_cast<char>(c);
  ::pclose(pipe);
  std::filesystem::remove(path);
  return line;
}

inline std::string own_machine() {
  utsname names{};
  ::uname(&names);
  return names.machine;
}

inline AgentImage image_of(std::string_view bytes, const std::string& machine = own_machine()) {
  return {bytes, first_line_of("sha256sum", bytes).substr(0, 64), machine, first_line_of("cksum", bytes)};
}

/// A script in place of the agent: `--probe` succeeds, otherwise it prints hello and its umask.
inline const AgentImage& fake_image() {
  static const AgentImage image = image_of("#!/bin/sh\n[ \"$1\" = --probe ] && exit 0\necho hello $(umask)\n");
  return image;
}

/// The result of a start.
struct Started {
  bool sent = false;  ///< the host requested the bytes of the agent
  bool ran = false;
  std::string said;  ///< output of the agent
  std::string why;   ///< why the agent was not run
};

/// `nonce` has letters; each start has a different one.
inline Started start(const Login& login, const std::string& nonce = "abc", const std::string& agent_path = "") {
  const HostShell shell(login);
  Bootstrap bootstrap(nonce, {fake_image().machine});
  shell.write(bootstrap_script({fake_image()}, nonce, agent_path));
  Started started;
  auto next = shell.until(bootstrap);
  if (next == Bootstrap::Next::upload) {
    started.sent = true;
    shell.write(fake_image().bytes);
    next = shell.until(bootstrap);
  }
  started.ran = next == Bootstrap::Next::frames;
  if (started.ran) started.said = bootstrap.rest() + shell.rest();
  started.why = bootstrap.why();
  return started;
}

}  // namespace dlaunch::transport
