#include "app/host_session.h"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <unistd.h>

#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>

#include "base/text.h"
#include "launcher/write_waits.h"
#include "report/status_line.h"
#include "sys/limits.h"
#include "transport/exec.h"
#include "transport/remote_command.h"
#include "transport/ssh.h"

namespace dlaunch::app {
namespace {

launcher::LauncherSettings launcher_settings(const cli::Options& options) {
  launcher::LauncherSettings settings;
  settings.output = options.output;
  settings.stdin_target = options.stdin_target;
  settings.grace = options.policy.grace;
  settings.wait_hosts = options.wait_hosts;
  settings.staged = options.staged;
  settings.save_env = options.save_env;
  settings.hosts_at_once = options.hosts_at_once;
  settings.oversubscribe = options.request.oversubscribe;
  return settings;
}

/// Lets stderr take what is said while no job runs on the loop.
class SaidMeanwhile {
 public:
  SaidMeanwhile(asio::io_context& io, output::StandardStreams& streams)
      : streams_(streams),
        waits_(
            io, [&streams] { return streams.waiting(); },
            [&streams](output::FdWriter& writer) { streams.flush(writer); }) {
    streams_.on_waiting([this] { waits_.look(); });
    waits_.look();
  }
  ~SaidMeanwhile() { streams_.on_waiting({}); }
  SaidMeanwhile(const SaidMeanwhile&) = delete;
  SaidMeanwhile& operator=(const SaidMeanwhile&) = delete;

 private:
  output::StandardStreams& streams_;
  launcher::WriteWaits waits_;
};

}  // namespace

HostSession::HostSession(const cli::Options& options, output::StandardStreams& streams, spdlog::logger& log)
    : streams_(streams),
      log_(log),
      open_files_(sys::raise_open_files()),
      settings_(launcher_settings(options)),
      here_(options.request.job_id, options.policy.grace, open_files_),
      elsewhere_(way_elsewhere(options)),
      transport_(here_, *elsewhere_),
      hosts_(io_, transport_, options.request.job_id, settings_, log) {}

std::unique_ptr<transport::Transport> HostSession::way_elsewhere(const cli::Options& options) {
  if (options.exec.empty()) {
    return std::make_unique<transport::Ssh>(
        transport::Ssh::Settings{options.host_key, [this](const std::string& text) {
                                   asio::post(io_, [this, text] { log_.warn(text); });  // it is told in a host's thread
                                 }});
  }
  return std::make_unique<transport::Exec>(
      [&options](const plan::Host& host) { return transport::exec_command(options.exec, host); },
      [this](const std::string& text) { log_.warn(text); });
}

launcher::HostQuery::Result HostSession::survey(const std::vector<plan::Host>& hosts,
                                                launcher::HostQuery::Question question,
                                                launcher::HostQuery::Commands inquiry) {
  report::StatusLine status(streams_);
  const SaidMeanwhile said(io_, streams_);
  launcher::HostQuery survey(
      io_, hosts_, std::move(question),
      [&](const std::vector<std::string>& missing) {
        report::JobStatus now;
        now.phase = report::JobStatus::Phase::starting;
        now.missing = fold_names(missing);
        status.update(now, Clock::now());
        status.tick(Clock::now());
      },
      std::move(inquiry));
  return survey.run(hosts);
}

/// Who listens next hears of hosts that are lost meanwhile.
void HostSession::wait_readable(const sys::Fd& fd, Time deadline) {
  hosts_.listen({[](int, const wire::Hello&) {}, [](int, const launcher::HostFailure&) {},
                 [](int, const wire::Message&, const std::deque<sys::Fd>&) {}});
  const SaidMeanwhile said(io_, streams_);
  asio::posix::stream_descriptor readable(io_, ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  readable.async_wait(asio::posix::stream_descriptor::wait_read, [this](asio::error_code error) {
    if (!error) io_.stop();
  });
  io_.run_until(deadline);
  io_.restart();
}

void HostSession::close() {
  hosts_.close();
  transport_.close();
}

}  // namespace dlaunch::app
