#include "dialback/starter_by_stdin.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "transport/bootstrap.h"
#include "transport/remote_command.h"

namespace dlaunch::dialback {
namespace {

using Retry = transport::Disconnect::Retry;

constexpr std::chrono::seconds kTogether{10};     // limit for the other answers after the first answer
constexpr std::chrono::seconds kAnswerLimit{15};  // srun forwards no output before its tasks run on all nodes
constexpr std::chrono::seconds kComeLimit{8};     // longer than an agent tries to connect

/// The script is in the environment, which the manager's command passes on: command lines are visible in process lists
/// and in the manager's records while the job runs.
constexpr const char* kTask = " sh -c 'eval \"$DLAUNCH_START\"'";

std::string set_environment(const std::string& script, const std::vector<std::string>& unset) {
  std::string before = "export DLAUNCH_START=" + shell_quote("unset DLAUNCH_START\n" + script) + '\n';
  for (const std::string& name : unset) before += "unset -v " + name + '\n';
  return before;
}

}  // namespace

StarterByStdin::StarterByStdin(Request request, OnErrors on_errors)
    : request_(std::move(request)),
      on_errors_(std::move(on_errors)),
      answers_(request_.nonce, transport::agent_image().machine, request_.names()) {}

Result<void> StarterByStdin::begin(transport::RunningCommands& processes) {
  const std::string script =
      transport::bootstrap_script(transport::agent_image(), request_.nonce, request_.hosts.front().reach.agent,
                                  transport::kPieceLimit, request_.how.own_name);
  const std::string line = transport::group_command(request_.how.command, request_.hosts) + kTask;
  auto started =
      TRY(start_command(line, set_environment(script, request_.how.unset), fold_names(request_.names()), processes));
  stream_ = std::move(started.stream);
  errors_ = std::move(started.errors);
  began_ = Clock::now();
  return {};
}

Result<void> StarterByStdin::send_contact(const std::string& line, transport::RunningCommands& /*processes*/) {
  contact_ = line;
  send(contact_);
  return {};
}

/// A `fail` before `ready` comes from the script: no agent can run on the host, so a retry is useless. A `fail` after
/// `ready` comes from an agent that could not connect: another transport may work.
std::optional<transport::Disconnect> StarterByStdin::start_failure(const std::string& host) {
  if (answers_.state(host) == Answers::State::failed) {
    return transport::Disconnect{
        .what = answers_.why(host), .why = {}, .hint = {}, .retry = answers_.ran(host) ? Retry::soon : Retry::never};
  }
  if (!ended()) return std::nullopt;
  return transport::Disconnect{.what = {}, .why = {}, .hint = {}, .retry = Retry::when_up};
}

void StarterByStdin::send(std::string_view text) {
  to_send_ += text;
  write();
}

void StarterByStdin::watch(std::vector<pollfd>& polled) const {
  polled.push_back({stream_.get(), static_cast<short>(POLLIN | (to_send_.empty() ? 0 : POLLOUT)), 0});
  polled.push_back({errors_.get(), POLLIN, 0});
}

/// Reads stderr first: its last lines must arrive before the end of the command is detected.
void StarterByStdin::turn(const pollfd* polled, Time now) {
  if (polled[1].revents != 0 && errors_) read_errors();
  if (polled[0].revents != 0 && stream_) read(now);
  if (stream_) write();
  check_answers(now);
}

/// The time limit for connecting starts when all hosts that answered in time have an agent and all its input. Without
/// any answer the time is over at once: a host without an answer may block the answers of all other hosts.
void StarterByStdin::check_answers(Time now) {
  if (first_answer_ == Time::max() && now - began_ > kAnswerLimit) connect_by_ = std::min(connect_by_, now);
  if (connect_by_ != Time::max() || !to_send_.empty() || answers_.any(Answers::State::asks)) return;
  const bool all = !answers_.any(Answers::State::silent);
  if (all || (first_answer_ != Time::max() && now - first_answer_ > kTogether)) connect_by_ = now + kComeLimit;
}

void StarterByStdin::close() {
  stream_.reset();
  errors_.reset();
}

void StarterByStdin::write() {
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

void StarterByStdin::read(Time now) {
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

/// All hosts of one command receive the same bytes; hosts with the agent have already read the first contact.
void StarterByStdin::send_agent(Time now) {
  const bool all = !answers_.any(Answers::State::silent) || now - first_answer_ > kTogether;
  if (!all || sent_agent_ || !answers_.any(Answers::State::asks)) return;
  sent_agent_ = true;
  send(transport::agent_image().bytes);
  send(contact_);
}

void StarterByStdin::read_errors() {
  std::array<char, 4096> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  for (;;) {
    const ssize_t got = errors_ ? TEMP_FAILURE_RETRY(::read(errors_.get(), buffer.data(), buffer.size())) : 0;
    if (got == 0) errors_.reset();
    if (got <= 0) return;
    on_errors_("", {buffer.data(), static_cast<size_t>(got)});
  }
}

}  // namespace dlaunch::dialback
