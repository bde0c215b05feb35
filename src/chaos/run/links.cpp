#include "chaos/run/links.h"

#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <set>
#include <sstream>

#include "base/text.h"
#include "base/time.h"
#include "base/try.h"
#include "dlaunch/exit_status.h"
#include "sys/io.h"

extern char** environ;

namespace dlaunch::chaos {
namespace {

constexpr int kBacklog = 256;

void send_word(const sys::Fd& control, const std::string& word) {
  ::send(control.get(), word.data(), word.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

constexpr size_t kPiece = 64U << 10U;
constexpr int kLookMs = 20;      // while a slow link has bytes above its rate
constexpr double kBurst = 0.05;  // a slow link carries the bytes of this number of seconds at once

tl::unexpected<Error> no_link(std::string what, int error) {
  return fail({"dlaunch chaos", std::move(what), std::strerror(error), "", kExitHostLost});
}

/// One direction of the link.
class Way {
 public:
  Way(int from, int to) : from_(from), to_(to) {}

  bool wants_read() const { return !ended_ && waiting_.empty(); }
  bool wants_write() const { return !waiting_.empty() && allowed_ >= 1; }
  bool has_waiting() const { return !waiting_.empty(); }
  bool is_over() const { return ended_ && waiting_.empty(); }
  int from() const { return from_; }
  int to() const { return to_; }

  /// `rate` in bytes a second; 0: no limit.
  void pass_time(double seconds, double rate) {
    allowed_ =
        rate == 0 ? static_cast<double>(kPiece) : std::min(allowed_ + seconds * rate, std::max(1.0, rate * kBurst));
  }

  void read() {
    char piece[kPiece];
    const ssize_t size = ::recv(from_, piece, sizeof piece, MSG_DONTWAIT);
    if (size > 0) waiting_.assign(piece, static_cast<size_t>(size));
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) ended_ = true;
  }

  void write() {
    const size_t most = std::min(waiting_.size(), static_cast<size_t>(allowed_));
    const ssize_t size = ::send(to_, waiting_.data(), most, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size < 0) {
      ended_ = true;
      return waiting_.clear();
    }
    waiting_.erase(0, static_cast<size_t>(size));
    allowed_ -= static_cast<double>(size);
  }

 private:
  const int from_;
  const int to_;
  std::string waiting_;
  double allowed_ = static_cast<double>(kPiece);
  bool ended_ = false;
};

class Proxy {
 public:
  Proxy(sys::Fd control, sys::Fd command)
      : control_(std::move(control)),
        command_(std::move(command)),
        there_(STDIN_FILENO, command_.get()),
        back_(command_.get(), STDOUT_FILENO) {}

  /// Returns after the command has closed the link, or after the link must close.
  void run() {
    while (!closed_ && !back_.is_over()) {
      turn();
      if (there_.is_over() && !told_end_) {
        told_end_ = true;
        ::shutdown(command_.get(), SHUT_WR);
      }
    }
  }

 private:
  void turn() {
    pollfd fds[] = {{control_.get(), POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLOUT, 0}, {-1, POLLIN, 0}, {-1, POLLOUT, 0}};
    if (!held_) {
      if (there_.wants_read()) fds[1].fd = there_.from();
      if (there_.wants_write()) fds[2].fd = there_.to();
      if (back_.wants_read()) fds[3].fd = back_.from();
      if (back_.wants_write()) fds[4].fd = back_.to();
    }
    const bool slow = rate_ > 0 && (there_.has_waiting() || back_.has_waiting());
    ::poll(fds, std::size(fds), slow && !held_ ? kLookMs : -1);
    const Time now = Clock::now();
    const double passed = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    there_.pass_time(passed, rate_);
    back_.pass_time(passed, rate_);
    if (fds[0].revents != 0) hear();
    if (held_) return;
    if (fds[1].revents != 0) there_.read();
    if (fds[2].revents != 0) there_.write();
    if (fds[3].revents != 0) back_.read();
    if (fds[4].revents != 0) back_.write();
  }

  void hear() {
    char said[64];
    const ssize_t size = ::recv(control_.get(), said, sizeof said, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    const std::string_view word(said, size > 0 ? static_cast<size_t>(size) : 0);
    if (word.empty()) control_.reset();  // dlaunch chaos has ended, and every fault is undone
    held_ = word == "hold";
    closed_ = word == "close";
    rate_ = word.starts_with("rate ") ? static_cast<double>(parse_int(word.substr(5), 1, 1L << 50).value_or(0)) : 0;
  }

  sys::Fd control_;
  sys::Fd command_;
  Way there_;
  Way back_;
  bool held_ = true;  // until the first word
  bool closed_ = false;
  bool told_end_ = false;
  double rate_ = 0;
  Time last_ = Clock::now();
};

Result<sys::Fd> connect_to(const std::string& path) {
  sys::Fd control(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!control || path.size() >= sizeof address.sun_path) return no_link("cannot create the socket of a link", errno);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::connect(control.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return no_link("cannot connect: dlaunch chaos has ended", errno);
  }
  return control;
}

/// The limit of the launcher must not apply to the host.
void lift_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  ::signal(SIGXFSZ, SIG_DFL);
}

Result<int> start_command(const std::vector<std::string>& words, const sys::Fd& stream) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, stream.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, stream.get(), STDOUT_FILENO);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, argv.front(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return no_link("cannot run " + words.front(), error);
  return pid;
}

}  // namespace

Links::Links(const std::string& path) : listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!listener_ || path.size() >= sizeof address.sun_path) sys::throw_errno("socket");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const auto* const to = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(listener_.get(), to, sizeof address) != 0 || ::listen(listener_.get(), kBacklog) != 0) {
    sys::throw_errno("bind");
  }
}

std::vector<int> Links::fds() const {
  std::vector<int> fds = {listener_.get()};
  for (const Proxy& proxy : proxies_) fds.push_back(proxy.control.get());
  return fds;
}

void Links::ready(int fd) {
  if (fd == listener_.get()) return accept();
  const auto proxy = std::ranges::find(proxies_, fd, [](const Proxy& each) { return each.control.get(); });
  if (proxy == proxies_.end()) return;
  hear(*proxy);
  if (!proxy->control) proxies_.erase(proxy);
}

void Links::accept() {
  sys::Fd control(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (control) proxies_.push_back({.control = std::move(control), .host = {}});
}

void Links::hear(Proxy& proxy) {
  char said[512];
  const ssize_t size = ::recv(proxy.control.get(), said, sizeof said, MSG_DONTWAIT);
  if (size <= 0) return proxy.control.reset();
  std::istringstream words(std::string(said, static_cast<size_t>(size)));
  words >> proxy.command >> proxy.host;
  const auto word = words_.find(proxy.host);
  send_word(proxy.control, word == words_.end() ? "pass" : word->second);
}

std::vector<std::string> Links::hosts() const {
  std::set<std::string> hosts;
  for (const Proxy& proxy : proxies_) {
    if (!proxy.host.empty()) hosts.insert(proxy.host);
  }
  return {hosts.begin(), hosts.end()};
}

std::vector<int> Links::commands(const std::string& host) const {
  std::vector<int> commands;
  for (const Proxy& proxy : proxies_) {
    if (proxy.host == host) commands.insert(commands.begin(), proxy.command);
  }
  return commands;
}

void Links::tell(const std::string& host, const std::string& word) {
  words_[host] = word;
  for (const Proxy& proxy : proxies_) {
    if (proxy.host == host) send_word(proxy.control, word);
  }
}

bool Links::close(const std::string& host) {
  bool any = false;
  for (const Proxy& proxy : proxies_) {
    if (proxy.host != host) continue;
    send_word(proxy.control, "close");
    any = true;
  }
  return any;
}

Result<int> run_link(const std::vector<std::string>& words) {
  if (words.size() < 3) return no_link("missing socket, host or command", EINVAL);
  sys::Fd control = TRY(connect_to(words[0]));
  lift_file_limit();
  auto [ours, theirs] = sys::make_socketpair();
  const int pid = TRY(start_command({words.begin() + 2, words.end()}, theirs));
  theirs.reset();
  const std::string hello = std::to_string(pid) + ' ' + words[1];
  ::send(control.get(), hello.data(), hello.size(), MSG_NOSIGNAL);
  Proxy(std::move(control), std::move(ours)).run();
  ::close(STDIN_FILENO);  // the launcher sees the end before the command has ended
  ::close(STDOUT_FILENO);
  int wait_status = 0;
  while (::waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  return ExitStatus::from_wait(wait_status).shell_code();
}

}  // namespace dlaunch::chaos
