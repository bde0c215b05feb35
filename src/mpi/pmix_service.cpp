#include "mpi/pmix_service.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "dlaunch/exit_status.h"
#include "dlaunch/worlds.h"
#include "plan/spawn_plan.h"
#include "pmi/fence_collector.h"
#include "sys/inherited.h"
#include "sys/io.h"

namespace dlaunch::mpi {
namespace {

constexpr size_t kLastStderr = 2048;
constexpr int kBacklog = 4096;
constexpr int kNotLoaded = 127;  // exit code of the dynamic linker
constexpr const char* kInstall = "install libpmix 4.2 or later on that host (Debian: libpmix2), or set --mpi none";

std::string system_text(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

PmixService::PmixService(asio::io_context& io, link::Link& link, agent::Children& children, agent::JobDirectory& files)
    : io_(io),
      link_(link),
      children_(children),
      files_(files),
      listener_(io),
      error_output_(io),
      timer_(io),
      watch_(io) {}

void PmixService::configure(const wire::MpiWorld& world) {
  const bool first = worlds_.empty();
  if (!first && world.first < worlds_.back().first + worlds_.back().size) return;
  const std::uint32_t earlier = first ? 0 : worlds_.back().earlier + worlds_.back().here;
  worlds_.push_back({world.world, world.pmix_space, world.first, world.size, world.here, earlier, {}});
  if (!first) return;
  job_ = world;
  site_.job = pmix::job_space(world.pmix_space, static_cast<int>(world.world));
  site_.universe = world.universe;
  site_.node = world.node;
  site_.host = world.name;
}

bool PmixService::serves(pmi::Family family) {
  const bool meant = !job_.probe || family == pmi::Family::pmix || family == pmi::Family::unknown;
  if (family == pmi::Family::pmix && !job_.no_pmix.empty()) {
    link_.send(wire::Log{wire::Log::kWarning, std::exchange(job_.no_pmix, {})});
  }
  if (!job_.pmix || !meant) return false;
  surely_ = surely_ || family == pmi::Family::pmix;
  if (phase_ == Phase::idle && !listener_.is_open() && !listen()) fail(system_text("cannot listen on 127.0.0.1"), "");
  if (phase_ == Phase::over) return false;
  if (surely_) need();
  return true;
}

std::vector<std::string> PmixService::environment(const wire::Spawn& spawn, pmi::Family family,
                                                  std::string_view command) const {
  const World& world = *find_world(worlds_, spawn.rank);
  auto client = job_.personal ? pmix::Client::personal : pmix::Client::surely;
  if (!job_.personal && family != pmi::Family::pmix) client = pmix::Client::maybe;
  return pmix::environment(
      site_,
      {world.space, world.size, world.here, spawn.rank - world.first, spawn.local_rank - world.earlier,
       spawn.local_rank, world.earlier + world.here > cpus_, command},
      client);
}

/// Only processes of this host can connect; clients without the job's name are disconnected
/// (pmix/bridge/connection_proxy.h).
bool PmixService::listen() {
  sys::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* where = reinterpret_cast<sockaddr*>(&address);
  if (!socket || ::bind(socket.get(), where, size) != 0 || ::listen(socket.get(), kBacklog) != 0 ||
      ::getsockname(socket.get(), where, &size) != 0) {
    return false;
  }
  site_.port = ntohs(address.sin_port);
  const std::string segments = pmix::segments_directory(job_.space, site_.node);
  if (files_.make_shared_memory(segments)) site_.segments = segments;
  if (const auto cpus = sys::affinity_of(0)) cpus_ = cpus->size();
  listener_.assign(socket.release());
  listener_.async_wait(asio::posix::stream_descriptor::wait_read, lifetime_.guard([this](asio::error_code error) {
    if (!error) need();
  }));
  return true;
}

void PmixService::need() {
  if (phase_ != Phase::idle) return;
  phase_ = Phase::requested;
  utsname names{};
  ::uname(&names);
  link_.send(wire::PmixProgramAsk{names.machine});
}

void PmixService::program(const wire::PmixProgram& program) {
  if (phase_ != Phase::requested) return;
  if (!program.why.empty()) return fail(program.why, "");
  if (!program.path.empty()) return start(program.path);
  if (!image_) image_.reset(::memfd_create("dlaunch-pmix", MFD_CLOEXEC));
  if (!sys::write_all(image_.get(), program.bytes)) return fail(system_text("cannot write dlaunch-pmix to memory"), "");
  if (program.last) start("/proc/self/fd/" + std::to_string(image_.get()));
}

void PmixService::start(const std::string& path) {
  phase_ = Phase::starting;
  const auto directory = files_.make("pmix");
  if (!directory) return fail(directory.error().text(), "");
  page_.reset(::memfd_create("dlaunch-states", MFD_CLOEXEC));
  states_ = std::make_unique<pmix::States>(page_, job_.first + job_.size + plan::kMostEverSpawned);
  sys::Fd socket;
  if (!*states_ || !spawn(path, socket)) return fail(system_text("cannot start dlaunch-pmix"), "");
  bridge_ = std::make_unique<link::Link>(io_, std::move(socket));
  bridge_->start({[this](wire::Message&& message, std::deque<sys::Fd>&) { received(std::move(message)); },
                  [](const std::string&) {},  // the process is also reaped
                  {}});
  std::vector<sys::Fd> fds;
  fds.emplace_back(::fcntl(listener_.native_handle(), F_DUPFD_CLOEXEC, 0));
  fds.push_back(std::move(page_));
  bridge_->send(wire::PmixStart{site_.job, site_.node, site_.host, *directory, job_.here > cpus_}, std::move(fds));
  for (const wire::Message& message : std::exchange(early_, {})) bridge_->send(message);
  timer_.expires_after(kPatience);
  timer_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (error || phase_ != Phase::starting) return;
    fail("timed out after " + std::to_string(kPatience.count()) + " s waiting for dlaunch-pmix", "");
  }));
  watch();
}

bool PmixService::spawn(const std::string& path, sys::Fd& socket) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  socket.reset(ends[0]);
  const sys::Fd theirs(ends[1]);
  sys::Pipe errors = sys::make_pipe();
  if (!errors.read) return false;
  char name[] = "dlaunch-pmix";
  char* const argv[] = {name, nullptr};
  agent::Launch launch = agent::launch_helper(path.c_str(), argv);
  launch.in = theirs.get();
  launch.out = errors.write.get();  // libpmix may print; its output must not become a frame
  launch.err = errors.write.get();
  launch.wait = true;  // `path` may be a descriptor of this process, which must stay open until the exec
  oom_.emplace();
  const auto pid =
      children_.spawn(launch, lifetime_.guard([this](const agent::Children::End& end) { process_ended(end); }));
  if (!pid) {
    errno = pid.error();
    return false;
  }
  pid_ = *pid;
  image_.reset();
  sys::set_nonblocking(errors.read.get());
  error_output_.assign(errors.read.release());
  read_stderr();
  return true;
}

void PmixService::read_stderr() {
  error_output_.async_wait(asio::posix::stream_descriptor::wait_read, lifetime_.guard([this](asio::error_code error) {
    if (error) return;
    std::array<char, 4096> bytes{};
    const ssize_t got = ::read(error_output_.native_handle(), bytes.data(), bytes.size());
    if (got <= 0) return error_output_.close();
    const std::string text(bytes.data(), static_cast<size_t>(got));
    link_.send(wire::Log{wire::Log::kInformation, "dlaunch-pmix: " + text});
    last_stderr_ = (last_stderr_ + text).substr(0, kLastStderr);
    read_stderr();
  }));
}

/// Forwards messages for the launcher; the first Ping means that clients are served.
void PmixService::received(wire::Message&& message) {
  if (std::holds_alternative<wire::Ping>(message)) {
    timer_.cancel();
    asio::error_code ignored;
    listener_.close(ignored);  // open until now: clients wait instead of failing before dlaunch-pmix serves them
    if (phase_ == Phase::starting) phase_ = Phase::running;
    settle();
  } else if (auto* failed = std::get_if<wire::PmixFailed>(&message)) {
    fail(failed->why, failed->hint);
  } else if (phase_ != Phase::over) {
    link_.send(message);
  }
}

void PmixService::pass_on(wire::Message&& message) {
  if (phase_ == Phase::over) return;
  bridge_ ? bridge_->send(message) : early_.push_back(std::move(message));
}

bool PmixService::ended(std::uint32_t rank) {
  World* world = find_world(worlds_, rank);
  if (!world) return false;
  const auto state = states_ ? states_->of(rank) : pmix::State::never;
  if (state == pmix::State::never && job_.pmix && !world->never) {
    world->never = rank - world->first;
    watch();
  }
  return state == pmix::State::in_mpi;
}

/// If a rank has ended without calling MPI_Init, all other ranks of its world wait in MPI_Init; libpmix does not detect
/// this.
bool PmixService::waits_forever(const World& world) const {
  if (!world.never) return false;
  for (std::uint32_t id = world.first; id < world.first + world.size; ++id) {
    if (states_->of(id) == pmix::State::in_mpi) return true;
  }
  return false;
}

void PmixService::watch() {
  const bool any = std::ranges::any_of(worlds_, [](const World& world) { return world.never.has_value(); });
  if (!any || !states_ || phase_ == Phase::over) return;
  watch_.expires_after(kGrace);
  watch_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (error || phase_ == Phase::over) return;
    const auto broken = std::ranges::find_if(worlds_, [this](const World& world) { return waits_forever(world); });
    if (broken == worlds_.end()) return watch();
    const std::string name = Worlds::rank_name({static_cast<int>(broken->number), static_cast<int>(*broken->never)});
    link_.send(wire::Log{wire::Log::kWarning, pmi::broken_fence("rank " + name)});
    stop();
    if (pid_ != 0) ::kill(pid_, SIGKILL);  // its clients lose their connections, and MPI ends them
  }));
}

void PmixService::process_ended(const agent::Children::End& end) {
  pid_ = 0;
  bridge_.reset();
  if (phase_ == Phase::over) return;
  if (end.not_started) {
    return fail(std::string("cannot start dlaunch-pmix: ") + std::strerror(end.not_started->error), "");
  }
  std::array<char, kLastStderr> bytes{};
  const ssize_t got = error_output_.is_open() ? ::read(error_output_.native_handle(), bytes.data(), bytes.size()) : 0;
  if (got > 0) last_stderr_.append(bytes.data(), static_cast<size_t>(got));
  const ExitStatus status = ExitStatus::from_wait(end.wait_status);
  const bool library = status.shell_code() == kNotLoaded;
  std::string why = "dlaunch-pmix " + status.describe() + (WIFSIGNALED(end.wait_status) && oom_ ? oom_->text() : "");
  if (!last_stderr_.empty()) why += ": " + first_line(last_stderr_);
  fail(std::move(why), library ? kInstall : "");
}

/// Ends the job if a program surely needs PMIx; else ends only clients that connect.
void PmixService::fail(std::string why, std::string hint) {
  if (phase_ == Phase::over) return;
  const bool used = surely_ || !job_.probe || phase_ == Phase::running;
  const std::uint8_t level = phase_ == Phase::idle ? wire::Log::kInformation : wire::Log::kWarning;
  stop();
  if (pid_ != 0) ::kill(pid_, SIGKILL);
  why = "PMIx is not available: " + why;
  if (used) {
    link_.send(wire::PmixFailed{std::move(why), std::move(hint)});
  } else {
    link_.send(wire::Log{level, why + (hint.empty() ? "" : "; " + hint)});
  }
  settle();
}

void PmixService::once_settled(std::function<void()> then) {
  surely_ && !settled_ ? unsettled_.push_back(std::move(then)) : then();
}

void PmixService::settle() {
  settled_ = true;
  for (const auto& then : std::exchange(unsettled_, {})) then();
}

void PmixService::stop() {
  phase_ = Phase::over;
  asio::error_code ignored;
  listener_.close(ignored);
  timer_.cancel();
  watch_.cancel();
}

}  // namespace dlaunch::mpi
