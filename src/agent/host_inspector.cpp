#include "agent/host_inspector.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "agent/environment.h"
#include "agent/program.h"
#include "base/environment.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "dlaunch/exit_status.h"
#include "link/timer.h"
#include "machine/local.h"
#include "sys/clock.h"
#include "sys/interfaces.h"
#include "sys/io.h"

namespace dlaunch::agent {
namespace {

std::uint32_t error_of_entering(const std::string& directory) {
  struct stat info{};
  if (::stat(directory.c_str(), &info) != 0) return static_cast<std::uint32_t>(errno);
  if (!S_ISDIR(info.st_mode)) return ENOTDIR;
  return ::access(directory.c_str(), X_OK) == 0 ? 0 : static_cast<std::uint32_t>(errno);
}

std::int64_t free_shared_memory() {
  struct statvfs info{};
  if (::statvfs("/dev/shm", &info) != 0) return -1;
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

/// Like the inspection of the launcher's machine, but only a batch system hides devices.
void inspect_machine(const wire::QueryHost& query, wire::HostInfo& facts) {
  const auto here = machine::local_allocation(node_variables(), query.no_devices ? std::optional(0) : std::nullopt,
                                              query.cores ? machine::Count::cores : machine::Count::cpus);
  if (!here) return;
  const plan::Host& host = here->hosts.front();
  facts.cpus = static_cast<std::uint32_t>(host.slots);
  facts.cpus_from = host.slots_from;
  facts.device_kind = static_cast<std::uint8_t>(host.device_kind);
  facts.devices.assign(host.devices.begin(), host.devices.end());
  facts.devices_from = host.devices_from;
}

void find_programs(const wire::QueryHost& query, wire::HostInfo& facts) {
  const std::vector<std::string> environment = {"PATH=" + query.path};
  for (size_t i = 0; i < query.programs.size(); ++i) {
    facts.programs.emplace_back();
    facts.missing.emplace_back();
    facts.program_errors.push_back(0);
    if (query.programs[i].empty()) continue;
    const std::string wdir = i < query.wdirs.size() ? query.wdirs[i] : "/";
    auto found = find_program(query.programs[i], environment, wdir);
    if (found) {
      if (auto why = cannot_start(*found, wdir)) found = tl::unexpected(*std::move(why));
    }
    if (found) {
      facts.programs.back() = *std::move(found);
    } else {
      facts.missing.back() = std::move(found.error().what);
      facts.program_errors.back() = static_cast<std::uint32_t>(found.error().error);
    }
  }
}

/// Returns 0 if an interpreter can read the path: a file, or a directory that Python runs as a program; else an errno.
std::uint32_t error_of_reading(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return static_cast<std::uint32_t>(errno);
  if (S_ISDIR(info.st_mode) && ::access((path + "/__main__.py").c_str(), R_OK) != 0) return EISDIR;
  return ::access(path.c_str(), R_OK) == 0 ? 0 : static_cast<std::uint32_t>(errno);
}

/// The possible paths of the script, the likeliest first.
std::vector<std::string> places_of_script(const wire::QueryHost& query, size_t i) {
  const std::string& script = query.scripts[i];
  const std::string wdir = i < query.wdirs.size() ? query.wdirs[i] : "/";
  std::vector<std::string> places = {absolute(script, wdir)};
  const bool in_path = i < query.in_path.size() && query.in_path[i] != 0 && script.find('/') == std::string::npos;
  if (!in_path) return places;
  for (const std::string& directory : split(query.path, ':'))
    places.push_back(absolute(directory, wdir) + '/' + script);
  return places;
}

void find_scripts(const wire::QueryHost& query, wire::HostInfo& facts) {
  for (size_t i = 0; i < query.scripts.size(); ++i) {
    facts.scripts.emplace_back();
    facts.script_errors.push_back(0);
    if (query.scripts[i].empty()) continue;
    const std::vector<std::string> places = places_of_script(query, i);
    const auto found = std::ranges::find(places, 0u, error_of_reading);
    if (found != places.end()) {
      facts.scripts.back() = *found;
    } else {
      facts.script_errors.back() = error_of_reading(places.front());
    }
  }
}

constexpr size_t kLongestAnswer = 64u << 10;

}  // namespace

HostInspector::HostInspector(asio::io_context& io, link::Link& link, Children& children, const rlimit& open_files)
    : io_(io), link_(link), children_(children), open_files_(open_files) {}

std::optional<std::string> HostInspector::on(wire::Message& message) {
  auto* const query = std::get_if<wire::QueryHost>(&message);
  if (!query) return std::nullopt;
  inspect(std::move(*query));
  return "";
}

void HostInspector::inspect(wire::QueryHost&& query) {
  wire::HostInfo facts;
  facts.time_ns = sys::wall_ns();
  facts.version = DLAUNCH_VERSION;
  inspect_machine(query, facts);
  facts.shm_free = free_shared_memory();
  if (open_files_.rlim_cur != RLIM_INFINITY) facts.open_files = static_cast<std::int64_t>(open_files_.rlim_cur);
  for (const auto& own : sys::interface_addresses()) facts.interfaces.push_back(own.interface + ' ' + own.address);
  for (const std::string& directory : query.wdirs) facts.wdir_errors.push_back(error_of_entering(directory));
  find_programs(query, facts);
  find_scripts(query, facts);
  if (query.names.empty()) return link_.send(facts);
  if (!resolver_) resolver_.emplace(io_, children_, open_files_);
  resolver_->resolve(std::move(query.names), [this, facts = std::move(facts)](Resolver::Answer answer) mutable {
    facts.addresses = std::move(answer.addresses);
    facts.unresolved = std::move(answer.trouble);
    link_.send(facts);
  });
}

std::string addresses_in(std::string_view printed) {
  std::vector<std::string> addresses;
  std::string text;
  for (const std::string& line : split(printed, '\n')) {
    const std::string address = line.substr(0, line.find_first_of(" \t"));
    if (address.empty() || std::ranges::find(addresses, address) != addresses.end()) continue;
    text += (text.empty() ? "" : " ") + address;
    addresses.push_back(address);
  }
  return text;
}

struct Resolver::Lookup {
  Lookup(asio::io_context& io, size_t its_name, sys::Fd fd) : name(its_name), pipe(io, fd.release()) {}

  size_t name;
  asio::posix::stream_descriptor pipe;
  std::array<char, 4096> buffer{};
  std::string text;
  const Lifetime lifetime;
};

Resolver::Resolver(asio::io_context& io, Children& children, const rlimit& open_files)
    : io_(io), children_(children), open_files_(open_files), deadline_(io) {}
Resolver::~Resolver() = default;

void Resolver::resolve(std::vector<std::string> names, Done done) {
  lookups_.clear();
  names_ = std::move(names);
  done_ = std::move(done);
  next_ = 0;
  answer_ = {};
  answer_.addresses.resize(names_.size());
  const auto getent = find_program("getent", own_environment(), "/");
  if (!getent) return finish("program \"getent\": not found");
  getent_ = *getent;
  deadline_.expires_after(kPatience);
  deadline_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (link::is_due(error, deadline_) && done_)
      finish("timed out after " + std::to_string(kPatience.count()) + " s waiting for getent");
  }));
  start_next();
}

void Resolver::start_next() {
  while (lookups_.size() < kAtOnce && next_ < names_.size() && done_) start(next_++);
  if (lookups_.empty() && done_) finish({});
}

void Resolver::start(size_t name) {
  const sys::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  sys::Pipe pipe = sys::make_pipe();
  if (!null || !pipe.read || names_[name].starts_with('-'))
    return;  // getent would take such a name for an option; valid names do not start with "-"
  std::string words[] = {"getent", "ahosts", names_[name]};
  char* const argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  Launch launch = launch_helper(getent_.c_str(), argv);
  launch.open_files = open_files_;
  launch.in = launch.err = null.get();
  launch.out = pipe.write.get();
  if (const auto pid = children_.spawn(launch, {}); !pid) {
    return finish(std::string("cannot run getent: ") + std::strerror(pid.error()));
  }
  lookups_.push_back(std::make_unique<Lookup>(io_, name, std::move(pipe.read)));
  read(*lookups_.back());
}

void Resolver::read(Lookup& lookup) {
  const auto took = [this, &lookup](asio::error_code error, size_t size) {
    if (error == asio::error::operation_aborted) return;
    lookup.text.append(lookup.buffer.data(), size);
    if (!error && lookup.text.size() < kLongestAnswer) return read(lookup);
    answer_.addresses[lookup.name] = addresses_in(lookup.text);
    std::erase_if(lookups_, [&](const auto& each) { return each.get() == &lookup; });
    start_next();
  };
  lookup.pipe.async_read_some(asio::buffer(lookup.buffer), lookup.lifetime.guard(took));
}

/// A getent that still waits for a name server ends by itself, or with the job.
void Resolver::finish(std::string trouble) {
  deadline_.cancel();
  lookups_.clear();
  answer_.trouble = std::move(trouble);
  asio::post(io_,
             lifetime_.guard([done = std::exchange(done_, {}), answer = std::exchange(answer_, {})] { done(answer); }));
}

struct CommandRunner::Run {
  Run(asio::io_context& io, size_t its_command, pid_t its_pid, sys::Fd fd)
      : command(its_command), pid(its_pid), pipe(io, fd.release()) {}

  size_t command;
  pid_t pid;
  asio::posix::stream_descriptor pipe;
  std::array<char, 4096> buffer{};
  bool silent = false;  // the pipe has ended
  std::optional<int> wait_status;
  const Lifetime lifetime;
};

CommandRunner::CommandRunner(asio::io_context& io, link::Link& link, Children& children, const rlimit& open_files)
    : io_(io), link_(link), children_(children), open_files_(open_files), deadline_(io) {}
CommandRunner::~CommandRunner() = default;

std::optional<std::string> CommandRunner::on(wire::Message& message) {
  auto* const request = std::get_if<wire::RunCommands>(&message);
  if (!request) return std::nullopt;
  ask(std::move(*request));
  return "";
}

void CommandRunner::ask(wire::RunCommands&& request) {
  stop();
  request_ = std::move(request);
  results_ = {};
  results_.printed.resize(request_.commands.size());
  results_.codes.resize(request_.commands.size(), static_cast<std::uint32_t>(kExitTimeout));
  next_ = 0;
  requested_ = true;
  deadline_.expires_after(std::chrono::milliseconds(request_.patience_ms));
  deadline_.async_wait(lifetime_.guard([this](asio::error_code error) {
    if (link::is_due(error, deadline_) && requested_) send_results();
  }));
  start_next();
}

void CommandRunner::stop() {
  requested_ = false;
  deadline_.cancel();
  for (const auto& run : runs_) {
    if (run->wait_status) continue;
    if (::kill(-run->pid, SIGKILL) != 0) ::kill(run->pid, SIGKILL);  // if the child does not lead its group yet
  }
  runs_.clear();
}

void CommandRunner::start_next() {
  while (requested_ && runs_.size() < kAtOnce && next_ < request_.commands.size()) start(next_++);
  if (requested_ && runs_.empty()) send_results();
}

void CommandRunner::start(size_t index) {
  std::vector<std::string> words = split(request_.commands[index], '\n');
  const auto program = find_program(words.front(), {"PATH=" + request_.path}, "/");
  if (!program) {
    results_.codes[index] = static_cast<std::uint32_t>(kExitNotFound);
    results_.printed[index] = program.error().what;
    return;
  }
  const sys::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  sys::Pipe pipe = sys::make_pipe();
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  Launch launch = launch_helper(program->c_str(), argv.data());
  launch.open_files = open_files_;
  launch.in = null.get();
  launch.out = launch.err = pipe.write.get();
  const auto pid = null && pipe.read
                       ? children_.spawn(launch, lifetime_.guard([this](const Children::End& end) { ended(end); }))
                       : tl::unexpected(EMFILE);
  if (!pid) {
    results_.codes[index] = static_cast<std::uint32_t>(kExitNotExecutable);
    return;
  }
  runs_.push_back(std::make_unique<Run>(io_, index, *pid, std::move(pipe.read)));
  read(*runs_.back());
}

void CommandRunner::read(Run& run) {
  const auto took = [this, &run](asio::error_code error, size_t size) {
    if (error == asio::error::operation_aborted) return;
    std::string& text = results_.printed[run.command];
    const size_t kept = std::min({size, kLongestAnswer - text.size(), kMostPrinted - printed_});
    text.append(run.buffer.data(), kept);
    printed_ += kept;
    if (!error) return read(run);
    run.silent = true;
    settle(run);
  };
  run.pipe.async_read_some(asio::buffer(run.buffer), run.lifetime.guard(took));
}

void CommandRunner::ended(const Children::End& end) {
  const auto found = std::ranges::find(runs_, end.pid, [](const auto& run) { return run->pid; });
  if (found == runs_.end()) return;  // killed by stop()
  (*found)->wait_status = end.wait_status;
  settle(**found);
}

void CommandRunner::settle(Run& run) {
  if (!run.silent || !run.wait_status) return;
  results_.codes[run.command] = static_cast<std::uint32_t>(ExitStatus::from_wait(*run.wait_status).shell_code());
  std::erase_if(runs_, [&](const auto& each) { return each.get() == &run; });
  start_next();
}

/// Sends the answer; commands that still run keep the code of a timeout.
void CommandRunner::send_results() {
  stop();
  link_.send(std::exchange(results_, {}));
}

}  // namespace dlaunch::agent
