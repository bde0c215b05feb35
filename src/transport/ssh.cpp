#include "transport/ssh.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "base/try.h"
#include "sys/io.h"
#include "sys/thread.h"
#include "transport/ssh/library.h"
#include "transport/ssh/routes.h"
#include "transport/ssh/runner.h"
#include "transport/ssh/watchdog.h"

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
