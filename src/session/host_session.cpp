#include "session/host_session.h"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <unistd.h>

#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <functional>
#include <limits>
#include <mutex>
#include <utility>

#include "base/index_cast.h"
#include "base/lifetime.h"
#include "base/try.h"
#include "dialback/agent_group.h"
#include "dlaunch/error.h"
#include "launcher/waits.h"
#include "report/log.h"
#include "report/summary.h"
#include "sys/installed.h"
#include "transport/command.h"
#include "transport/ssh.h"

namespace dlaunch::session {
namespace {

/// Prints log messages on stderr while the loop runs without a job.
class ConsoleWrites {
 public:
  ConsoleWrites(asio::io_context& io, output::StandardStreams& streams)
      : streams_(streams),
        waits_(
            io, [&streams] { return streams.waiting(); },
            [&streams](output::FdWriter& writer) { streams.flush(writer); }) {
    streams_.on_waiting([this] { waits_.update(); });
    waits_.update();
  }
  ~ConsoleWrites() { streams_.on_waiting({}); }
  ConsoleWrites(const ConsoleWrites&) = delete;
  ConsoleWrites& operator=(const ConsoleWrites&) = delete;

 private:
  output::StandardStreams& streams_;
  launcher::WriteWaits waits_;
};

JobOptions settled(JobOptions options, const std::string& job_id) {
  if (options.dial_in) options.hosts_at_once = std::numeric_limits<int>::max();  // one command starts all agents
  if (options.pmix_program.empty()) options.pmix_program = sys::installed_program("dlaunch-pmix");
  if (options.output.files) options.output.files->job = job_id;
  return options;
}

bool same_host(const plan::Host& a, const plan::Host& b) { return a.name == b.name && a.reach == b.reach; }

}  // namespace

/// Passes messages of transports' threads to the loop. Threads that do not end in time outlive the loop.
class HostSession::Mailbox {
 public:
  explicit Mailbox(asio::io_context& io) : io_(&io) {}
  void post(std::function<void()> then) {
    const std::lock_guard lock(mutex_);
    if (io_) asio::post(*io_, std::move(then));
  }
  void close() {
    const std::lock_guard lock(mutex_);
    io_ = nullptr;
  }

 private:
  std::mutex mutex_;
  asio::io_context* io_;
};

HostSession::HostSession(std::string job_id, JobOptions options, output::StandardStreams& streams, spdlog::logger& log,
                         Listener& listener, transport::Transport* elsewhere)
    : options_(settled(std::move(options), job_id)),
      streams_(streams),
      log_(log),
      listener_(listener),
      here_(job_id, options_.policy.grace, before_.open_files(), [&log](const std::string& text) { log.warn(text); }),
      mailbox_(std::make_shared<Mailbox>(io_)),
      elsewhere_(elsewhere ? nullptr : transport_elsewhere(job_id)),
      transport_(
          here_, elsewhere ? *elsewhere : *elsewhere_,
          elsewhere ? std::function<void()>() : [this] { here_.start_other_commands(); }),
      hosts_(io_, transport_, std::move(job_id), options_, log) {}

std::unique_ptr<transport::Transport> HostSession::transport_elsewhere(const std::string& job_id) {
  const auto say = [this](spdlog::level::level_enum level) {
    return [this, level, mailbox = mailbox_](const std::string& text) {
      mailbox->post([this, level, text] { log_.log(level, text); });
    };
  };
  const auto by_dial_in = [&](std::unique_ptr<transport::Transport> again) {
    return std::make_unique<dialback::ManagerTransport>(
        *options_.dial_in, dialback::Welcome{job_id, options_.heartbeat, options_.pause_limit},
        dialback::Messages{say(spdlog::level::info), say(spdlog::level::warn)}, std::move(again));
  };
  if (options_.dial_in && options_.exec.empty()) return by_dial_in(nullptr);
  if (options_.exec.empty()) {
    return std::make_unique<transport::Ssh>(transport::Ssh::Settings{options_.host_key, say(spdlog::level::warn)});
  }
  auto by_command = std::make_unique<transport::Exec>(
      [this](const plan::Host& host) { return transport::exec_command(options_.exec, host); },
      [this](const std::string& text) { log_.warn(text); },
      options_.exec_is_signalled ? transport::Exec::Ending::by_signal : transport::Exec::Ending::by_itself);
  if (!options_.dial_in) return by_command;
  return by_dial_in(std::move(by_command));
}

launcher::HostQuery::Result HostSession::query(const std::vector<plan::Host>& hosts,
                                               launcher::HostQuery::Question question,
                                               launcher::HostQuery::Commands commands) {
  const ConsoleWrites writes(io_, streams_);
  launcher::HostQuery query(
      io_, hosts_, std::move(question),
      [this](const std::vector<std::string>& missing) { listener_.progress({.missing_hosts = missing}); },
      std::move(commands));
  auto result = query.run(hosts);
  listener_.progress({});
  return result;
}

/// Hosts lost during the wait are reported to the next listener.
void HostSession::wait_readable(const sys::Fd& fd, Time deadline) {
  hosts_.listen({});
  const ConsoleWrites writes(io_, streams_);
  asio::posix::stream_descriptor readable(io_, ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  const Lifetime waiting;
  readable.async_wait(asio::posix::stream_descriptor::wait_read, waiting.guard([this](asio::error_code error) {
    if (!error) io_.stop();
  }));
  io_.run_until(deadline);
  io_.restart();
}

void HostSession::close() {
  hosts_.close();
  transport_.close();
  mailbox_->close();
}

Error interrupted_error(int signal) {
  return {"", "interrupted by " + signal_name(signal), "no rank was started", "", kSignalBase + signal};
}

Result<std::vector<launcher::QueriedHost>> query_all(HostSession& session, const std::vector<plan::Host>& hosts,
                                                     launcher::HostQuery::Question question,
                                                     launcher::HostQuery::Commands commands) {
  const Time start = Clock::now();
  auto queried = session.query(hosts, std::move(question), std::move(commands));
  if (queried.signal != 0) return fail(interrupted_error(queried.signal));
  std::vector<job::LostHost> lost;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (const auto& loss = queried.hosts[i].loss) lost.push_back({hosts[i].name, loss->why, loss->hint});
  }
  if (lost.empty()) return std::move(queried.hosts);
  session.log().error(report::lost_hosts_text(lost, false, Clock::now() - start));
  return fail({"", "", "", "", kExitHostLost});  // printed above
}

Result<settle::QueryHosts::Answer> query(HostSession& session, const settle::QueryHosts& question) {
  const auto hosts = TRY(query_all(session, question.hosts, [&](int host) -> std::optional<wire::QueryHost> {
    const auto& asked = at_index(question.queries, host);
    if (!asked) return std::nullopt;
    wire::QueryHost query;
    query.cores = asked->count_cores;
    query.no_devices = asked->no_devices;
    return query;
  }));
  settle::QueryHosts::Answer found;
  for (const launcher::QueriedHost& host : hosts) found.push_back(host.facts);
  return found;
}

void keep_planned(HostSession& session, const plan::Allocation& opened, const plan::Plan& plan) {
  std::vector<int> places;
  size_t at = 0;  // the plan has the hosts in the same order
  for (const plan::PlannedHost& planned : plan.hosts) {
    while (!same_host(opened.hosts[at], planned.host)) ++at;
    places.push_back(static_cast<int>(at++));
  }
  const size_t spares = plan.replacements.size();  // the last hosts
  for (size_t i = opened.hosts.size() - spares; i < opened.hosts.size(); ++i) places.push_back(static_cast<int>(i));
  session.hosts().keep(places);
}

}  // namespace dlaunch::session
