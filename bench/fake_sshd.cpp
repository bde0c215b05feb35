// fake_sshd DIR [--shell]: an ssh server for benchmarks, on a port of all addresses 127.x.y.z. Writes the port into
// DIR/port, uses DIR/host_key, and accepts the key of DIR/user_key.pub. One thread per connection. The command `sh`
// starts a StubAgent, with --shell a real shell; any other command exits at once with 0. The server exits when its
// stdin closes.
#include <arpa/inet.h>
#include <fcntl.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "stub_agent.h"
#include "sys/clock.h"
#include "sys/fd.h"

namespace {

using dlaunch::sys::Fd;
constexpr int kBacklog = 4096;
constexpr size_t kStack = 256u << 10;
constexpr size_t kRead = 32u << 10;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "fake_sshd: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

struct Server {
  std::string directory;
  bool shell = false;
  std::string machine;
  ssh_bind bind = nullptr;
  ssh_key user_key = nullptr;
};

class Connection {
 public:
  Connection(const Server& server, int fd) : server_(server), session_(ssh_new()) {
    accepted_ = ssh_bind_accept_fd(server_.bind, session_, fd) == SSH_OK;
  }
  ~Connection() {
    if (channel_) ssh_channel_free(channel_);
    ssh_disconnect(session_);
    ssh_free(session_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void serve() {
    if (!accepted_ || ssh_handle_key_exchange(session_) != SSH_OK) return;
    while (command_.empty()) {
      const ssh_message message = ssh_message_get(session_);
      if (!message) return;
      if (!answer(message)) ssh_message_reply_default(message);
      ssh_message_free(message);
    }
    if (command_ == "sh") server_.shell ? run_shell() : run_stub();
    ssh_channel_request_send_exit_status(channel_, 0);
    ssh_channel_send_eof(channel_);
    ssh_channel_close(channel_);
    wait_for_end();
  }

 private:
  bool answer(ssh_message message) {
    switch (ssh_message_type(message)) {
      case SSH_REQUEST_AUTH:
        return answer_login(message);
      case SSH_REQUEST_CHANNEL_OPEN:
        channel_ = ssh_message_channel_request_open_reply_accept(message);
        return channel_ != nullptr;
      case SSH_REQUEST_CHANNEL:
        if (ssh_message_subtype(message) != SSH_CHANNEL_REQUEST_EXEC) return false;
        command_ = ssh_message_channel_request_command(message);
        return ssh_message_channel_request_reply_success(message) == SSH_OK;
      default:
        return false;
    }
  }

  bool answer_login(ssh_message message) const {
    ssh_message_auth_set_methods(message, SSH_AUTH_METHOD_PUBLICKEY);
    if (ssh_message_subtype(message) != SSH_AUTH_METHOD_PUBLICKEY) return false;
    if (ssh_key_cmp(ssh_message_auth_pubkey(message), server_.user_key, SSH_KEY_CMP_PUBLIC) != 0) return false;
    const auto state = ssh_message_auth_publickey_state(message);
    if (state == SSH_PUBLICKEY_STATE_NONE) return ssh_message_auth_reply_pk_ok_simple(message) == SSH_OK;
    return state == SSH_PUBLICKEY_STATE_VALID && ssh_message_auth_reply_success(message, 0) == SSH_OK;
  }

  void run_stub() {
    const auto number = static_cast<std::uint32_t>(ssh_get_fd(session_));
    dlaunch::bench::StubAgent agent({.host = "stub" + std::to_string(number),
                                     .machine = server_.machine,
                                     .pid = number,
                                     .time_ns = dlaunch::sys::wall_ns()});
    std::array<char, kRead> buffer;
    for (bool more = true; more;) {
      const int got = ssh_channel_read(channel_, buffer.data(), buffer.size(), 0);
      if (got <= 0) return;
      std::string out;
      more = agent.feed({buffer.data(), static_cast<size_t>(got)}, out);
      if (!out.empty() && ssh_channel_write(channel_, out.data(), static_cast<std::uint32_t>(out.size())) < 0) return;
    }
  }

  void run_shell() {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) die("socketpair");
    const Fd ours(pair[0]);
    Fd theirs(pair[1]);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(theirs.get(), STDIN_FILENO);
      ::dup2(theirs.get(), STDOUT_FILENO);
      ::execl("/bin/sh", "sh", "-c", command_.c_str(), nullptr);
      ::_exit(127);
    }
    theirs.reset();
    carry(ours.get());
    ::shutdown(ours.get(), SHUT_RDWR);
    ::waitpid(child, nullptr, 0);
  }

  void carry(int child) {
    std::array<char, kRead> buffer;
    for (;;) {
      const int got = ssh_channel_read_nonblocking(channel_, buffer.data(), buffer.size(), 0);
      if (got < 0 || (got > 0 && ::send(child, buffer.data(), static_cast<size_t>(got), MSG_NOSIGNAL) != got)) return;
      if (got > 0) continue;
      if (ssh_channel_is_eof(channel_)) ::shutdown(child, SHUT_WR);
      std::array<pollfd, 2> waits{pollfd{ssh_get_fd(session_), POLLIN, 0}, pollfd{child, POLLIN, 0}};
      ::poll(waits.data(), waits.size(), -1);
      if (waits[1].revents == 0) continue;
      const ssize_t said = ::recv(child, buffer.data(), buffer.size(), 0);
      if (said <= 0 || ssh_channel_write(channel_, buffer.data(), static_cast<std::uint32_t>(said)) < 0) return;
    }
  }

  void wait_for_end() {
    pollfd wait{ssh_get_fd(session_), POLLIN, 0};
    std::array<char, 512> rest;
    while (::poll(&wait, 1, 10'000) > 0 && ::recv(wait.fd, rest.data(), rest.size(), 0) > 0) {
    }
  }

  const Server& server_;
  const ssh_session session_;
  bool accepted_ = false;
  ssh_channel channel_ = nullptr;
  std::string command_;
};

void start_thread(std::function<void()> run) {
  auto* const argument = new std::function<void()>(std::move(run));
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStack);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread{};
  const int error = ::pthread_create(
      &thread, &attributes,
      [](void* given) -> void* {
        auto* const work = static_cast<std::function<void()>*>(given);
        (*work)();
        delete work;
        return nullptr;
      },
      argument);
  ::pthread_attr_destroy(&attributes);
  if (error != 0) die("pthread_create");
}

Fd listen_on_loopback(const std::string& port_file) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  constexpr char kLoopback[] = "lo";  // all addresses of the loopback interface only
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_BINDTODEVICE, kLoopback, sizeof kLoopback) != 0) die("SO_BINDTODEVICE");
  if (::bind(fd.get(), any, size) != 0 || ::listen(fd.get(), kBacklog) != 0) die("listen");
  ::getsockname(fd.get(), any, &size);
  FILE* const file = std::fopen(port_file.c_str(), "w");
  if (!file) die(port_file);
  std::fprintf(file, "%d\n", ntohs(address.sin_port));
  std::fclose(file);
  return fd;
}

Server make_server(int argc, char** argv) {
  Server server;
  server.directory = argv[1];
  server.shell = argc > 2 && std::strcmp(argv[2], "--shell") == 0;
  utsname names{};
  ::uname(&names);
  server.machine = names.machine;
  server.bind = ssh_bind_new();
  ssh_bind_options_set(server.bind, SSH_BIND_OPTIONS_HOSTKEY, (server.directory + "/host_key").c_str());
  if (ssh_pki_import_pubkey_file((server.directory + "/user_key.pub").c_str(), &server.user_key) != SSH_OK) {
    die(server.directory + "/user_key.pub");
  }
  return server;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fputs("usage: fake_sshd DIR [--shell]\n", stderr), 2;
  std::signal(SIGPIPE, SIG_IGN);
  const Server server = make_server(argc, argv);
  const Fd listener = listen_on_loopback(server.directory + "/port");
  for (;;) {
    std::array<pollfd, 2> waits{pollfd{listener.get(), POLLIN, 0}, pollfd{STDIN_FILENO, POLLIN, 0}};
    ::poll(waits.data(), waits.size(), -1);
    if (waits[1].revents != 0) std::_Exit(0);
    const int fd = ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const int one = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    // ssh_bind_accept_fd uses server keys that all sessions share, so the parallel threads must not call it.
    auto connection = std::make_shared<Connection>(server, fd);
    start_thread([connection] { connection->serve(); });
  }
}
