#include "transport/ssh/session.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <new>
#include <optional>
#include <utility>

#include "transport/ssh/connection.h"
#include "transport/ssh/pump.h"

namespace dlaunch::transport::ssh {
namespace {

using Retry = Disconnect::Retry;
using std::string;

constexpr std::chrono::seconds kAfterTheWatchdog{1};  // for waits of libssh that ignore a shut-down socket

bool has(const string& text, const char* part) { return text.find(part) != string::npos; }

class Session {
 public:
  explicit Session(const SessionParts& parts) : parts_(parts), lib_(parts.lib), session_(lib_.ssh_new()) {
    if (!session_) throw std::bad_alloc();
  }
  ~Session() {
    if (channel_) lib_.ssh_channel_free(channel_);
    lib_.ssh_silent_disconnect(session_);
    lib_.ssh_free(session_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  SessionEnd run(sys::Fd socket, const string& address) {
    if (auto end = handshake(std::move(socket), address)) return {*end, false};
    return {talk(), true};
  }

 private:
  Disconnect talk() {
    lib_.ssh_set_blocking(session_, 0);
    if (auto end = check_host_key(connection_)) return *end;
    if (auto end = log_in()) return *end;
    if (auto end = start_shell()) return *end;
    parts_.guard.expires_at(Watchdog::kNever);
    const string why = pump({lib_, session_, channel_, parts_.stream, parts_.errors, parts_.noise, parts_.idle});
    if (why.empty() || parts_.guard.ended()) return {};
    return lost(why);
  }

  static Disconnect lost(const string& why) {
    return {.what = "the ssh connection was lost", .why = why, .hint = "", .retry = Retry::soon};
  }

  void begin_phase() { parts_.guard.expires_at(Clock::now() + parts_.route.limit); }

  void set(ssh_options_e option, const void* value) { lib_.ssh_options_set(session_, option, value); }

  /// libssh must not read files by itself, and gets a numeric address, because libssh does not accept all names.
  std::optional<Disconnect> handshake(sys::Fd socket, const string& address) {
    const bool no = false;
    const int port = parts_.route.target.port;
    const long seconds = std::chrono::ceil<std::chrono::seconds>(parts_.route.limit + kAfterTheWatchdog).count();
    int fd = socket.get();
    set(SSH_OPTIONS_PROCESS_CONFIG, &no);
    set(SSH_OPTIONS_HOST, address.c_str());
    set(SSH_OPTIONS_PORT, &port);
    set(SSH_OPTIONS_USER, parts_.route.user.c_str());
    set(SSH_OPTIONS_KNOWNHOSTS, "/dev/null");
    set(SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null");
    set(SSH_OPTIONS_TIMEOUT, &seconds);
    if (!keep_to(parts_.route.algorithms)) {
      return Disconnect{"libssh cannot use the algorithms of the ssh configuration", lib_.ssh_get_error(session_),
                        "use OpenSSH's client: --exec 'ssh -T {host}'"};
    }
    set(SSH_OPTIONS_FD, &fd);
    begin_phase();
    (void)socket.release();  // libssh owns the descriptor from here on
    if (lib_.ssh_connect(session_) == SSH_OK) return std::nullopt;
    return handshake_failed(lib_.ssh_get_error(session_));
  }

  bool allow(std::initializer_list<ssh_options_e> options, const string& list) {
    return list.empty() || std::ranges::all_of(options, [&](ssh_options_e option) {
             return lib_.ssh_options_set(session_, option, list.c_str()) == SSH_OK;
           });
  }

  /// Returns false if libssh refuses a list and would use its defaults instead.
  bool keep_to(const Algorithms& wanted) {
    if (wanted.least_rsa_bits) set(SSH_OPTIONS_RSA_MIN_SIZE, &*wanted.least_rsa_bits);
    if (wanted.rekey_bytes) set(SSH_OPTIONS_REKEY_DATA, &*wanted.rekey_bytes);
    if (wanted.rekey_seconds) set(SSH_OPTIONS_REKEY_TIME, &*wanted.rekey_seconds);
    return allow({SSH_OPTIONS_CIPHERS_C_S, SSH_OPTIONS_CIPHERS_S_C}, wanted.ciphers) &&
           allow({SSH_OPTIONS_HMAC_C_S, SSH_OPTIONS_HMAC_S_C}, wanted.macs) &&
           allow({SSH_OPTIONS_KEY_EXCHANGE}, wanted.key_exchange) &&
           allow({SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES}, wanted.public_keys) &&
           allow({SSH_OPTIONS_HOSTKEYS}, preferred_algorithms(parts_.route.known, wanted.host_keys));
  }

  Disconnect handshake_failed(const string& why) const {
    const string what = "ssh handshake failed on port " + std::to_string(parts_.route.target.port);
    if (parts_.guard.expired()) {
      return {.what = what,
              .why = "timed out after " + std::to_string(parts_.route.limit.count() / 1000) + " s",
              .hint = "check that sshd listens on this port",
              .retry = Retry::when_up};
    }
    if (has(why, "kex error")) {
      return {.what = what, .why = why, .hint = "use OpenSSH's client: --exec 'ssh -T {host}'"};
    }
    return {.what = what,
            .why = "sshd closed the connection (" + why + ")",
            .hint = "check MaxStartups of the host's sshd: too many connections start at once",
            .retry = Retry::soon};
  }

  std::optional<Disconnect> log_in() {
    begin_phase();
    auto end = authenticate(connection_);
    if (end && parts_.guard.expired()) return timed_out("login failed");
    return end;
  }

  Disconnect timed_out(string what) const {
    return {.what = std::move(what),
            .why = "timed out after " + std::to_string(parts_.route.limit.count() / 1000) + " s",
            .hint = "",
            .retry = Retry::when_up};
  }

  std::optional<Disconnect> start_shell() {
    begin_phase();
    channel_ = lib_.ssh_channel_new(session_);
    if (!channel_ || finish([&] { return lib_.ssh_channel_open_session(channel_); }) != SSH_OK) {
      return shell_failed("check MaxSessions of the host's sshd, and the user's right to log in");
    }
    if (finish([&] { return lib_.ssh_channel_request_exec(channel_, "sh"); }) != SSH_OK) {
      return shell_failed("check the user's right to run commands on the host");
    }
    return std::nullopt;
  }

  int finish(const std::function<int()>& call) const { return connection_.finish(SSH_AGAIN, call); }

  Disconnect shell_failed(const char* hint) const {
    if (parts_.guard.expired()) return timed_out("cannot start a shell on the host");
    if (lib_.ssh_is_connected(session_) == 0) return lost(lib_.ssh_get_error(session_));
    return {.what = "cannot start a shell on the host", .why = lib_.ssh_get_error(session_), .hint = hint};
  }

  const SessionParts& parts_;
  const Library& lib_;
  const ssh_session session_;
  const SshConnection connection_{lib_, session_, parts_.route, parts_.watchdog, parts_.guard};
  ssh_channel channel_ = nullptr;
};

}  // namespace

SessionEnd run_session(const SessionParts& parts, sys::Fd socket, const string& address) {
  return Session(parts).run(std::move(socket), address);
}

}  // namespace dlaunch::transport::ssh
