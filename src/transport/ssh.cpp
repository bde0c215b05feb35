#include "transport/ssh.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "sys/io.h"
#include "transport/ssh/library.h"
#include "transport/ssh/routes.h"
#include "transport/ssh/runner.h"
#include "transport/ssh/surroundings.h"
#include "transport/ssh/thread.h"
#include "transport/ssh/watchdog.h"

namespace dlaunch::transport {
namespace {

// A connection whose stream we closed ends by itself, unless it is still being made. For all together.
constexpr std::chrono::milliseconds kEndsByItself{1000};
constexpr std::chrono::milliseconds kEndsWhenTold{500};

}  // namespace

class Ssh::Impl {
 public:
  explicit Impl(Settings settings) : routes_(ssh::look_around(), settings.host_key, std::move(settings.note)) {}

  Result<Opened> open(const plan::Host& host) {
    if (auto ok = begin(); !ok) return fail(ok.error());
    auto route = routes_.to(host);
    if (!route) {
      route.error().exit_code = kExitHostLost;
      return fail(route.error());
    }
    auto [ours, theirs] = sys::make_socketpair();
    sys::Pipe errors = sys::make_pipe();
    if (!errors.read) return no_resources(host, errno);
    auto runner = std::make_shared<ssh::Runner>(
        ssh::Runner::Parts{library_, watchdog_, *std::move(route), std::move(theirs), std::move(errors.write)});
    ssh::Thread thread;
    if (const int error = thread.start([runner] { runner->run(); }); error != 0) return no_resources(host, error);
    threads_.push_back(std::move(thread));
    return Opened{.stream = std::move(ours),
                  .bootstrap = true,
                  .agent_path = host.reach.agent,
                  .errors = std::move(errors.read),
                  .way_end = [runner] { return runner->end(); }};
  }

  void close() {
    if (threads_.empty() || join_all(kEndsByItself)) return;
    watchdog_->end_all();
    join_all(kEndsWhenTold);
    threads_.clear();
    watchdog_.reset();
  }

 private:
  Result<void> begin() {
    if (!library_) {
      auto library = ssh::load_library();
      if (!library) return fail(library.error());
      library_ = std::make_shared<ssh::Library>(*library);
    }
    if (watchdog_) return {};
    watchdog_ = std::make_shared<ssh::Watchdog>();
    if (const int error = watchdog_->start(); error != 0) return no_resources({}, error);
    return {};
  }

  static tl::unexpected<Error> no_resources(const plan::Host& host, int error) {
    return fail({host.name, "cannot start an ssh connection", std::strerror(error),
                 "raise the limits of processes and open files (ulimit -u, ulimit -n)", kExitHostLost});
  }

  bool join_all(std::chrono::milliseconds limit) {
    const auto deadline = std::chrono::system_clock::now() + limit;
    std::erase_if(threads_, [&](ssh::Thread& thread) { return thread.join_until(deadline); });
    return threads_.empty();
  }

  ssh::Routes routes_;
  std::shared_ptr<const ssh::Library> library_;
  std::shared_ptr<ssh::Watchdog> watchdog_;
  std::vector<ssh::Thread> threads_;
};

Ssh::Ssh(Settings settings) : impl_(std::make_unique<Impl>(std::move(settings))) {}
Ssh::~Ssh() { close(); }
Result<Opened> Ssh::open(const plan::Host& host) { return impl_->open(host); }
void Ssh::close() { impl_->close(); }

}  // namespace dlaunch::transport
