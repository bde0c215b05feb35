#include "transport/ssh.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/try.h"
#include "net/tcp.h"
#include "sys/fd.h"
#include "sys/io.h"
#include "sys/pump_idle_flag.h"
#include "sys/thread.h"
#include "transport/command.h"
#include "transport/ssh/connection.h"
#include "transport/ssh/library.h"
#include "transport/ssh/pump.h"
#include "transport/ssh/routes.h"
#include "transport/ssh/watchdog.h"

namespace dlaunch::transport::ssh {

// One ssh connection: handshake, host key, authentication, a channel with `sh`, and the bytes. Runs in the host's own
// thread; the watchdog ends each phase at its deadline.

/// The environment of a session. All references must outlive the session.
struct SessionParts {
  const Library& lib;
  const Route& route;
  Watchdog& watchdog;
  Watchdog::Guard& guard;   ///< of the socket
  const sys::Fd& stream;    ///< the launcher's; non-blocking
  const sys::Fd& errors;    ///< receives the remote stderr; non-blocking
  const sys::Fd& noise;     ///< stderr of a proxy command; non-blocking, or empty
  sys::PumpIdleFlag& idle;  ///< of the pump
};

/// The end of a session, and its phase.
struct SessionEnd {
  Disconnect end;  ///< an empty `what`: no error
  bool shook_hands = false;
};

/// Runs a session over a connected socket and returns after its end.
SessionEnd run_session(const SessionParts& parts, sys::Fd socket, const std::string& address);

/// The thread of one host, from resolving the name to the last byte. Shared by the transport and the thread; both read
/// the same result.
class Runner {
 public:
  struct Parts {
    std::shared_ptr<const Library> lib;
    std::shared_ptr<Watchdog> watchdog;
    std::function<Result<Route>()> find_route;  ///< called first, in the thread
    sys::Fd stream;                             ///< to the launcher
    sys::Fd errors;                             ///< for the connection's stderr
  };
  explicit Runner(Parts parts);

  /// The main function of the thread. end() has the result before the stream ends.
  void run();
  Disconnect end() const;
  /// True if no byte of the stream waits in this process any more.
  bool passed_on_by(std::chrono::steady_clock::time_point deadline);
  /// True if the thread is about to exit.
  bool over() const;

 private:
  bool is_passed_on() const;
  Disconnect reach();
  Disconnect over_tcp();
  Disconnect over_command();
  SessionEnd over(sys::Fd socket, const std::string& address, const sys::Fd& noise);

  Parts parts_;
  Route route_;
  mutable std::mutex mutex_;
  Disconnect end_;
  bool over_ = false;
  sys::PumpIdleFlag idle_{mutex_};
};

namespace {

constexpr const char* kNoAddress = "127.0.0.1";  // libssh requires an address but does not connect to this one
constexpr std::chrono::milliseconds kEndsByItself{100};
constexpr std::chrono::milliseconds kEndsAfterTerm{200};
constexpr std::chrono::milliseconds kEndsAfterKill{500};  // a longer wait means uninterruptible sleep

/// Ends a command after its socket is closed. Returns false if SIGKILL has no effect.
bool end_command(const Command& command) {
  const auto ends_within = [&](std::chrono::milliseconds limit) {
    return command.ends_by(std::chrono::steady_clock::now() + limit);
  };
  if (ends_within(kEndsByItself)) return true;
  command.signal(SIGTERM);
  if (ends_within(kEndsAfterTerm)) return true;
  command.signal(SIGKILL);
  return ends_within(kEndsAfterKill);
}

std::string read_rest(const sys::Fd& fd) {
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t got; (got = ::read(fd.get(), buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  return text;
}

using Retry = Disconnect::Retry;
using std::string;

constexpr const char* kSlowHost = "check the load of the host, or set a larger ConnectTimeout in the ssh configuration";
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
    return {"the ssh connection was lost", why, "check the network, and the log of sshd on the host", Retry::soon};
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

  /// Returns false if libssh refuses a list and would use its defaults instead. libssh 0.9 has no limit for RSA keys.
  bool keep_to(const Algorithms& wanted) {
    const int* const bits = wanted.least_rsa_bits ? &*wanted.least_rsa_bits : nullptr;
    if (bits && lib_.ssh_options_set(session_, SSH_OPTIONS_RSA_MIN_SIZE, bits) != SSH_OK) return false;
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
    if (parts_.guard.expired()) return timed_out(what, "check that sshd listens on this port");
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
    if (end && parts_.guard.expired()) return timed_out("login failed", kSlowHost);
    return end;
  }

  Disconnect timed_out(string what, string hint) const {
    return {.what = std::move(what),
            .why = "timed out after " + std::to_string(parts_.route.limit.count() / 1000) + " s",
            .hint = std::move(hint),
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
    if (parts_.guard.expired()) return timed_out("cannot start a shell on the host", kSlowHost);
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

Runner::Runner(Parts parts) : parts_(std::move(parts)) {
  sys::set_nonblocking(parts_.stream.get());
  sys::set_nonblocking(parts_.errors.get());
}

void Runner::run() {
  Disconnect end = reach();
  {
    const std::lock_guard lock(mutex_);
    end_ = std::move(end);
  }
  parts_.errors.reset();
  {
    const std::lock_guard lock(mutex_);
    parts_.stream.reset();
    over_ = true;
  }
  idle_.set(true);
}

/// Checks unread bytes first: the pump clears its idle flag before reading.
bool Runner::is_passed_on() const {
  int unread = 0;
  return over_ || (::ioctl(parts_.stream.get(), FIONREAD, &unread) == 0 && unread == 0 && idle_.now());
}

bool Runner::passed_on_by(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return idle_.wait(lock, deadline, [this] { return is_passed_on(); });
}

bool Runner::over() const {
  const std::lock_guard lock(mutex_);
  return over_;
}

Disconnect Runner::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

Disconnect Runner::reach() {
  auto route = parts_.find_route();
  if (!route) {
    const Error& error = route.error();
    return {error.where.empty() ? error.what : error.where + ": " + error.what, error.why, error.hint};
  }
  route_ = *std::move(route);
  return route_.proxy_command.empty() ? over_tcp() : over_command();
}

Disconnect Runner::over_tcp() {
  auto connected = net::connect_to(route_.target, route_.limit, parts_.watchdog->ended()->get());
  if (!connected) return connected.error();
  return over(std::move(connected->socket), connected->address, sys::Fd()).end;
}

SessionEnd Runner::over(sys::Fd socket, const std::string& address, const sys::Fd& noise) {
  Watchdog::Guard guard = parts_.watchdog->watch(socket.get());
  return run_session({*parts_.lib, route_, *parts_.watchdog, guard, parts_.stream, parts_.errors, noise, idle_},
                     std::move(socket), address);
}

Disconnect Runner::over_command() {
  auto [ours, theirs] = sys::make_socketpair();
  sys::Pipe errors = sys::make_pipe();
  Command command;
  const int error = errors.read ? command.start(route_.proxy_command, theirs, errors.write) : errno;
  if (error != 0)
    return {"cannot run the proxy command", std::strerror(error), "check the command: " + route_.proxy_command};
  theirs.reset();
  errors.write.reset();
  sys::set_nonblocking(errors.read.get());
  SessionEnd session = over(std::move(ours), kNoAddress, errors.read);
  if (!end_command(command)) {
    (void)sys::write_all(parts_.errors.get(),
                         "the proxy command, pid " + std::to_string(command.pid()) + ", did not end after SIGKILL\n");
  }
  if (session.shook_hands) return session.end;
  return blame_command(std::move(session.end), read_rest(errors.read));
}

SessionEnd run_session(const SessionParts& parts, sys::Fd socket, const string& address) {
  return Session(parts).run(std::move(socket), address);
}

}  // namespace dlaunch::transport::ssh

namespace dlaunch::transport {
namespace {

// Time limits of close(), for all connections together. A connection ends by itself if its login is finished and its
// stream is closed. After the first limit, the watchdog shuts down the other connections.
constexpr std::chrono::milliseconds kEndsByItself{1000};
constexpr std::chrono::milliseconds kEndsAfterShutdown{500};

}  // namespace

class Ssh::Impl {
 public:
  explicit Impl(Settings settings) : settings_(std::move(settings)) {}

  Result<Connection> open(const plan::Host& host) {
    TRY(begin());
    remove_finished();
    auto [ours, theirs] = sys::make_socketpair();
    sys::Pipe errors = sys::make_pipe();
    if (!errors.read) return no_resources(host, errno);
    auto runner = std::make_shared<ssh::Runner>(
        ssh::Runner::Parts{library_, watchdog_, [routes = routes_, host] { return routes->to(host); },
                           std::move(theirs), std::move(errors.write)});
    sys::Thread thread;
    if (const int error = thread.start([runner] { runner->run(); }); error != 0) return no_resources(host, error);
    runs_.push_back({runner, std::move(thread)});
    return Connection{.stream = std::move(ours),
                      .bootstrap = true,
                      .agent_path = host.reach.agent,
                      .errors = std::move(errors.read),
                      .disconnect = [runner] { return runner->end(); },
                      .passed_on_by = [runner](auto deadline) { return runner->passed_on_by(deadline); }};
  }

  void close() {
    if (notes_) notes_->end();
    if (runs_.empty() || join_all(kEndsByItself)) return;
    watchdog_->end_all();
    join_all(kEndsAfterShutdown);
    runs_.clear();
  }

 private:
  struct Run {
    std::shared_ptr<ssh::Runner> runner;
    sys::Thread thread;
  };

  /// Removes finished runners: a host may be tried many times until the host is up.
  void remove_finished() {
    const auto soon = std::chrono::steady_clock::now() + kEndsAfterShutdown;
    std::erase_if(runs_, [&](Run& run) { return run.runner->over() && run.thread.join_until(soon); });
  }

  Result<void> begin() {
    if (library_) return {};
    auto library = TRY(ssh::load_library());
    watchdog_ = std::make_shared<ssh::Watchdog>();
    if (const int error = watchdog_->start(); error != 0) return no_resources({}, error);
    notes_ = std::make_shared<ssh::Notes>(settings_.note);
    routes_ = std::make_shared<ssh::Routes>(ssh::read_process_context(), settings_.host_key, notes_, watchdog_);
    library_ = std::make_shared<ssh::Library>(library);
    return {};
  }

  static tl::unexpected<Error> no_resources(const plan::Host& host, int error) {
    return fail({host.name, "cannot start an ssh connection", std::strerror(error),
                 "set higher limits of processes and open files (ulimit -u, ulimit -n)", kExitHostLost});
  }

  bool join_all(std::chrono::milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    std::erase_if(runs_, [&](Run& run) { return run.thread.join_until(deadline); });
    return runs_.empty();
  }

  const Settings settings_;
  // Created for the first host: a job on only this machine does not use ssh.
  std::shared_ptr<const ssh::Library> library_;
  std::shared_ptr<ssh::Watchdog> watchdog_;
  std::shared_ptr<ssh::Notes> notes_;
  std::shared_ptr<ssh::Routes> routes_;
  std::vector<Run> runs_;
};

Ssh::Ssh(Settings settings) : impl_(std::make_unique<Impl>(std::move(settings))) {}
Ssh::~Ssh() { close(); }
Result<Connection> Ssh::open(const plan::Host& host) { return impl_->open(host); }
void Ssh::close() { impl_->close(); }

}  // namespace dlaunch::transport
