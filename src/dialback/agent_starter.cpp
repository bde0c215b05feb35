#include "dialback/agent_starter.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "dialback/answers.h"
#include "dialback/start_directory.h"
#include "sys/fd.h"
#include "sys/io.h"
#include "transport/bootstrap.h"

namespace dlaunch::dialback {

std::vector<std::string> AgentStarter::Request::names() const {
  std::vector<std::string> names;
  names.reserve(hosts.size());
  for (const plan::Host& host : hosts) names.push_back(host.name);
  return names;
}

namespace {

using Retry = transport::Disconnect::Retry;

/// A running command of a manager, with non-blocking descriptors for stdin and stdout, and for stderr.
struct StartedCommand {
  sys::Fd stream;
  sys::Fd errors;
};

/// Runs a /bin/sh line after `before` (transport/command.h). `processes` lists the command under the name `hosts`.
Result<StartedCommand> start_command(const std::string& line, const std::string& before, const std::string& hosts,
                                     transport::RunningCommands& processes) {
  auto [ours, theirs] = sys::make_socketpair();
  sys::Pipe errors = sys::make_pipe();
  transport::Command process;
  const int error = errors.read ? process.start(line, theirs, errors.write, before) : errno;
  if (error != 0) return fail({"", "cannot run the manager's command", std::strerror(error), ""});
  processes.add(std::move(process), hosts);
  sys::set_nonblocking(ours.get());
  sys::set_nonblocking(errors.read.get());
  return StartedCommand{std::move(ours), std::move(errors.read)};
}

constexpr std::chrono::seconds kTogether{10};     // limit for the other answers after the first answer
constexpr std::chrono::seconds kAnswerLimit{15};  // srun forwards no output before its tasks run on all nodes
constexpr std::chrono::seconds kComeLimit{8};     // longer than an agent tries to connect

/// The script is in the environment, which the manager's command passes on: command lines are visible in process lists
/// and in the manager's records while the job runs.
constexpr const char* kTask = " sh -c 'eval \"$DLAUNCH_START\"'";

std::string set_environment(const std::string& script, const DialIn& how) {
  std::string before = "export DLAUNCH_START=" + shell_quote("unset DLAUNCH_START\n" + script) + '\n';
  for (const std::string& name : how.unset) before += "unset -v " + name + '\n';
  for (const std::string& entry : how.set) before += "export " + shell_quote(entry) + '\n';
  return before;
}

/// Starts agents with one command of a resource manager. Its environment contains the bootstrap script. Its stdin
/// receives the contact and, if a host lacks the agent, the agent's bytes and the contact again. Its stdout contains
/// the answers of all hosts, and its stderr the reasons of the manager for ending the agents.
class StarterByStdin : public AgentStarter {
 public:
  StarterByStdin(Request request, OnErrors on_errors)
      : request_(std::move(request)),
        on_errors_(std::move(on_errors)),
        answers_(request_.nonce, transport::agent_machines(), request_.names()) {}

  Result<void> begin(transport::RunningCommands& processes) override {
    const std::string script =
        transport::bootstrap_script(transport::agent_images(), request_.nonce, request_.hosts.front().reach.agent,
                                    transport::kPieceLimit, request_.how.own_name);
    const std::string line = transport::group_command(request_.how.command, request_.hosts) + kTask;
    auto started =
        TRY(start_command(line, set_environment(script, request_.how), fold_names(request_.names()), processes));
    stream_ = std::move(started.stream);
    errors_ = std::move(started.errors);
    began_ = Clock::now();
    return {};
  }

  Result<void> send_contact(const std::string& line, transport::RunningCommands& /*processes*/) override {
    contact_ = line;
    send(contact_);
    return {};
  }

  Time connect_by() const override { return connect_by_; }

  void watch(std::vector<pollfd>& polled) const override {
    polled.push_back({stream_.get(), static_cast<short>(POLLIN | (to_send_.empty() ? 0 : POLLOUT)), 0});
    polled.push_back({errors_.get(), POLLIN, 0});
  }

  /// Reads stderr first: its last lines must arrive before the end of the command is detected.
  void turn(const pollfd* polled, Time now) override {
    if (polled[1].revents != 0 && errors_) read_errors();
    if (polled[0].revents != 0 && stream_) read(now);
    if (stream_) write();
    check_answers(now);
  }

  /// A `fail` before `ready` comes from the script: no agent can run on the host, so a retry is useless. A `fail` after
  /// `ready` comes from an agent that could not connect: another transport may work.
  std::optional<transport::Disconnect> start_failure(const std::string& host) override {
    if (answers_.state(host) == Answers::State::failed) {
      return transport::Disconnect{
          .what = answers_.why(host), .why = {}, .hint = {}, .retry = answers_.ran(host) ? Retry::soon : Retry::never};
    }
    if (!ended()) return std::nullopt;
    return transport::Disconnect{.what = {}, .why = {}, .hint = {}, .retry = Retry::when_up};
  }

  /// True if its stdout has ended.
  bool ended() const override { return !stream_; }

  void close() override {
    stream_.reset();
    errors_.reset();
  }

 private:
  void send(std::string_view text) {
    to_send_ += text;
    write();
  }

  void write() {
    while (stream_ && !to_send_.empty()) {
      const ssize_t sent = ::send(stream_.get(), to_send_.data(), to_send_.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        to_send_.erase(0, static_cast<size_t>(sent));
      } else if (errno == EAGAIN) {
        return;
      } else if (errno != EINTR) {
        to_send_.clear();  // read() detects the end
      }
    }
  }

  void read(Time now) {
    std::array<char, 16u << 10> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv() fills it
    const ssize_t got = ::recv(stream_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      read_errors();
      stream_.reset();
      return;
    }
    first_answer_ = std::min(first_answer_, now);
    answers_.feed({buffer.data(), static_cast<size_t>(got)});
    send_agent(now);
  }

  void read_errors() {
    std::array<char, 4096> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
    for (;;) {
      const ssize_t got = errors_ ? TEMP_FAILURE_RETRY(::read(errors_.get(), buffer.data(), buffer.size())) : 0;
      if (got == 0) errors_.reset();
      if (got <= 0) return;
      on_errors_("", {buffer.data(), static_cast<size_t>(got)});
    }
  }

  /// All hosts of one command receive the same bytes; hosts with the agent have already read the first contact.
  void send_agent(Time now) {
    const bool all = !answers_.any(Answers::State::silent) || now - first_answer_ > kTogether;
    if (!all || sent_agent_ || !answers_.any(Answers::State::asks)) return;
    sent_agent_ = true;
    send(transport::all_agents());
    send(contact_);
  }

  /// The time limit for connecting starts when each host that answered in time has an agent and the agent's input.
  /// Without any answer the time is over at once: a host without an answer may block the answers of all other hosts.
  void check_answers(Time now) {
    if (first_answer_ == Time::max() && now - began_ > kAnswerLimit) connect_by_ = std::min(connect_by_, now);
    if (connect_by_ != Time::max() || !to_send_.empty() || answers_.any(Answers::State::asks)) return;
    const bool all = !answers_.any(Answers::State::silent);
    if (all || (first_answer_ != Time::max() && now - first_answer_ > kTogether)) connect_by_ = now + kComeLimit;
  }

  const Request request_;
  const OnErrors on_errors_;
  Answers answers_;
  sys::Fd stream_;
  sys::Fd errors_;
  std::string to_send_;
  Time began_;
  Time first_answer_ = Time::max();
  bool sent_agent_ = false;
  std::string contact_;
  Time connect_by_ = Time::max();
};

constexpr std::chrono::seconds kReadEvery{1};        // each read opens a file per host on a shared disk
constexpr std::chrono::seconds kTasksComeLimit{25};  // a manager needs time; the launcher gives up after 30 s

/// The words of one task. $0 is the start directory; $1 is the host name if each host has its own command. The output
/// goes to said.NAME, because PBS appends a task's stdout to the job's output.
std::string task_script(const std::string& own_name) {
  return "n=" + own_name + R"sh(; [ -O "$0" ] && exec /bin/sh "$0/script" "$n" <"$0/data" >"$0/said.$n" 2>&1)sh";
}

/// Starts agents with a resource manager that does not connect a task's stdin and stdout to the launcher, for example
/// PBS. The tasks read the bootstrap script, the agent and the contact from files in a directory on a disk shared by
/// the nodes, and write their answers there.
class StarterByFiles : public AgentStarter {
 public:
  StarterByFiles(Request request, OnErrors on_errors)
      : request_(std::move(request)),
        on_errors_(std::move(on_errors)),
        one_for_all_(request_.how.command.find("{hosts}") != std::string::npos) {}

  Result<void> begin(transport::RunningCommands& /*processes*/) override {
    StartDirectory made = TRY(StartDirectory::make(request_.how.files_in.value_or(""), request_.nonce));
    files_.emplace(std::move(made));
    std::string names;
    for (const plan::Host& host : request_.hosts) names += host.name + '\n';
    TRY(files_->write("names", names));
    return files_->write("script",
                         transport::bootstrap_script(transport::agent_images(), request_.nonce,
                                                     request_.hosts.front().reach.agent, transport::kPieceLimit, "$1"));
  }

  /// All hosts read the same bytes; hosts with the agent stop at the first contact.
  Result<void> send_contact(const std::string& line, transport::RunningCommands& processes) override {
    connect_by_ = Clock::now() + kTasksComeLimit;
    TRY(files_->write("data", line + transport::all_agents() + line));
    const DialIn& how = request_.how;
    const std::string task =
        " /bin/sh -c " + shell_quote(task_script(how.own_name)) + ' ' + shell_quote(files_->path());
    if (one_for_all_) {
      return start("", transport::group_command(how.command, request_.hosts), task, processes);
    }
    for (const plan::Host& host : request_.hosts) {
      TRY(start(host.name, transport::exec_command(how.command, host), task + ' ' + shell_quote(host.name), processes));
    }
    return {};
  }

  Time connect_by() const override { return connect_by_; }

  void watch(std::vector<pollfd>& polled) const override {
    for (const Started& each : started_) {
      polled.push_back({each.stream.get(), POLLIN, 0});
      polled.push_back({each.errors.get(), POLLIN, 0});
    }
  }

  void turn(const pollfd* polled, Time now) override {
    for (Started& each : started_) {
      const bool ran = static_cast<bool>(each.stream);
      if (polled[0].revents != 0 || polled[1].revents != 0) read(each);
      if (ran && !each.stream) next_read_ = now;
      polled += 2;
    }
    if (!files_ || started_.empty() || now < next_read_) return;
    read_answers();
    next_read_ = now + kReadEvery;
  }

  std::optional<transport::Disconnect> start_failure(const std::string& host) override {
    const Started* const command = command_of(host);
    if (!command || !files_ || !answers_) return std::nullopt;
    if (answers_->state(host) == Answers::State::failed) {
      return transport::Disconnect{.what = answers_->why(host), .why = {}, .hint = {}, .retry = Retry::never};
    }
    if (command->stream) return std::nullopt;
    transport::Disconnect why{.what = {}, .why = {}, .hint = {}, .retry = Retry::when_up};
    if (command->gave_reason) return why;
    if (answers_->state(host) == Answers::State::silent) {
      why.what = "the start command ended without a reply from the agent";
      why.hint = "check that the host can read " + files_->path() + ", or use --transport ssh";
    } else {
      why.what = "the agent ended before connecting";
    }
    return why;
  }

  /// A host's own command may end before its agent, because another process starts the tasks.
  bool ended() const override {
    return one_for_all_ && !started_.empty() &&
           std::ranges::none_of(started_, [](const auto& each) { return static_cast<bool>(each.stream); });
  }

  /// The files are no longer needed.
  void settled() override { files_.reset(); }

  void close() override {
    started_.clear();
    files_.reset();
  }

 private:
  /// A started command, for this host; an empty name means all hosts.
  struct Started {
    std::string host;
    sys::Fd stream = {};  // its output, which is ignored
    sys::Fd errors = {};
    bool gave_reason = false;
  };

  Result<void> start(const std::string& host, const std::string& command, const std::string& arguments,
                     transport::RunningCommands& processes) {
    const std::string hosts = host.empty() ? fold_names(request_.names()) : host;
    auto [stream, errors] = TRY(start_command(command + arguments, {}, hosts, processes));
    started_.push_back({host, std::move(stream), std::move(errors)});
    return {};
  }

  /// Reads stderr first: its last lines must arrive before the end of the command is detected.
  void read(Started& from) {
    std::array<char, 4096> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
    for (sys::Fd* fd : {&from.errors, &from.stream}) {
      ssize_t got = 0;
      while (*fd && (got = TEMP_FAILURE_RETRY(::read(fd->get(), buffer.data(), buffer.size()))) > 0) {
        if (fd == &from.stream) continue;
        from.gave_reason = true;
        on_errors_(from.host, {buffer.data(), static_cast<size_t>(got)});
      }
      if (*fd && (got == 0 || errno != EAGAIN)) fd->reset();
    }
  }

  /// Reads only complete lines.
  void read_answers() {
    answers_.emplace(request_.nonce, transport::agent_machines(), request_.names());
    for (const plan::Host& host : request_.hosts) {
      const std::string text = files_->read("said." + host.name);
      answers_->feed(text.substr(0, text.rfind('\n') + 1));
    }
  }

  const Started* command_of(const std::string& host) const {
    const auto found = std::ranges::find(started_, one_for_all_ ? "" : host, &Started::host);
    return found == started_.end() ? nullptr : &*found;
  }

  const Request request_;
  const OnErrors on_errors_;
  const bool one_for_all_;
  std::optional<StartDirectory> files_;
  std::vector<Started> started_;
  std::optional<Answers> answers_;  // the hosts' files at the last read
  Time next_read_;                  // of these files
  Time connect_by_ = Time::max();
};

}  // namespace

std::unique_ptr<AgentStarter> make_starter(AgentStarter::Request request, AgentStarter::OnErrors on_errors) {
  if (request.how.files_in) return std::make_unique<StarterByFiles>(std::move(request), std::move(on_errors));
  return std::make_unique<StarterByStdin>(std::move(request), std::move(on_errors));
}

}  // namespace dlaunch::dialback
