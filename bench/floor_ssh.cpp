// The floor of ssh: floor_ssh [-p PORT] [-l USER] -i KEY HOSTS COMMAND runs COMMAND on every host (a,b,…) with libssh,
// one thread per host, and copies the output to stdout. Host keys are not checked. Exits with 0 if all commands exit
// with 0.
#include <libssh/libssh.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kAtOnce = 64;  // equal to the limit of dlaunch
constexpr size_t kRead = 256u << 10;

struct Way {
  unsigned port = 22;
  std::string user = "root";
  std::string key;
  std::string command;
};

bool write_all(const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t took = ::write(STDOUT_FILENO, bytes, size);
    if (took < 0) return false;
    bytes += took;
    size -= static_cast<size_t>(took);
  }
  return true;
}

bool copy_output(ssh_channel channel) {
  std::vector<char> buffer(kRead);
  for (;;) {
    const int got = ssh_channel_read(channel, buffer.data(), static_cast<std::uint32_t>(buffer.size()), 0);
    if (got == 0) return true;
    if (got < 0 || !write_all(buffer.data(), static_cast<size_t>(got))) return false;
  }
}

void set_options(ssh_session session, const Way& way, const std::string& host) {
  const bool no = false;
  ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &no);
  ssh_options_set(session, SSH_OPTIONS_HOST, host.c_str());
  ssh_options_set(session, SSH_OPTIONS_PORT, &way.port);
  ssh_options_set(session, SSH_OPTIONS_USER, way.user.c_str());
  ssh_options_set(session, SSH_OPTIONS_KNOWNHOSTS, "/dev/null");
  ssh_options_set(session, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null");
  ssh_options_set(session, SSH_OPTIONS_HOSTKEYS, "ssh-ed25519");
}

bool log_in_and_start(ssh_session session, ssh_channel& channel, const Way& way, const std::string& host) {
  set_options(session, way, host);
  ssh_key key = nullptr;
  if (ssh_pki_import_privkey_file(way.key.c_str(), nullptr, nullptr, nullptr, &key) != SSH_OK) return false;
  const bool in = ssh_connect(session) == SSH_OK && ssh_userauth_publickey(session, nullptr, key) == SSH_AUTH_SUCCESS;
  ssh_key_free(key);
  if (!in) return false;
  channel = ssh_channel_new(session);
  if (!channel) return false;
  return ssh_channel_open_session(channel) == SSH_OK &&
         ssh_channel_request_exec(channel, way.command.c_str()) == SSH_OK;
}

bool run_on(const std::string& host, const Way& way, std::counting_semaphore<kAtOnce>& turns) {
  const ssh_session session = ssh_new();
  ssh_channel channel = nullptr;
  turns.acquire();
  const bool started = log_in_and_start(session, channel, way, host);
  turns.release();
  const bool good = started && copy_output(channel) && ssh_channel_get_exit_status(channel) == 0;
  if (!good) std::fprintf(stderr, "floor_ssh: %s: %s\n", host.c_str(), ssh_get_error(session));
  if (channel) ssh_channel_free(channel);
  ssh_disconnect(session);
  ssh_free(session);
  return good;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  Way way;
  for (int option; (option = ::getopt(argc, argv, "p:l:i:")) != -1;) {
    if (option == 'p') way.port = static_cast<unsigned>(std::atoi(optarg));
    if (option == 'l') way.user = optarg;
    if (option == 'i') way.key = optarg;
  }
  if (argc - optind != 2) return std::fputs("usage: floor_ssh [-p PORT] [-l USER] -i KEY HOSTS COMMAND\n", stderr), 2;
  way.command = argv[optind + 1];
  std::counting_semaphore<kAtOnce> turns(kAtOnce);
  std::atomic<int> failed = 0;
  {
    std::vector<std::jthread> threads;
    for (const std::string& host : split(argv[optind])) {
      threads.emplace_back([&, host] {
        if (!run_on(host, way, turns)) ++failed;
      });
    }
  }
  return failed == 0 ? 0 : 1;
}
