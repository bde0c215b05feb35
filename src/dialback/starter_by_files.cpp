#include "dialback/starter_by_files.h"

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

constexpr std::chrono::seconds kReadEvery{1};        // each read opens a file per host on a shared disk
constexpr std::chrono::seconds kTasksComeLimit{25};  // a manager needs time; the launcher gives up after 30 s

/// The words of one task. $0 is the start directory; $1 is the host name if each host has its own command. The output
/// goes to said.NAME, because PBS appends a task's stdout to the job's output.
std::string task_script(const std::string& own_name) {
  return "n=" + own_name + R"sh(; [ -O "$0" ] && exec /bin/sh "$0/script" "$n" <"$0/data" >"$0/said.$n" 2>&1)sh";
}

}  // namespace

StarterByFiles::StarterByFiles(Request request, OnErrors on_errors)
    : request_(std::move(request)),
      on_errors_(std::move(on_errors)),
      one_for_all_(request_.how.command.find("{hosts}") != std::string::npos) {}

Result<void> StarterByFiles::begin(transport::RunningCommands& /*processes*/) {
  StartDirectory made = TRY(StartDirectory::make(request_.how.files_in.value_or(""), request_.nonce));
  files_.emplace(std::move(made));
  std::string names;
  for (const plan::Host& host : request_.hosts) names += host.name + '\n';
  TRY(files_->write("names", names));
  return files_->write("script",
                       transport::bootstrap_script(transport::agent_image(), request_.nonce,
                                                   request_.hosts.front().reach.agent, transport::kPieceLimit, "$1"));
}

/// All hosts read the same bytes; hosts with the agent stop at the first contact.
Result<void> StarterByFiles::send_contact(const std::string& line, transport::RunningCommands& processes) {
  connect_by_ = Clock::now() + kTasksComeLimit;
  TRY(files_->write("data", line + std::string(transport::agent_image().bytes) + line));
  const DialIn& how = request_.how;
  const std::string task = " /bin/sh -c " + shell_quote(task_script(how.own_name)) + ' ' + shell_quote(files_->path());
  if (one_for_all_) {
    return start("", transport::group_command(how.command, request_.hosts), task, processes);
  }
  for (const plan::Host& host : request_.hosts) {
    TRY(start(host.name, transport::exec_command(how.command, host), task + ' ' + shell_quote(host.name), processes));
  }
  return {};
}

Result<void> StarterByFiles::start(const std::string& host, const std::string& command, const std::string& arguments,
                                   transport::RunningCommands& processes) {
  const std::string hosts = host.empty() ? fold_names(request_.names()) : host;
  auto [stream, errors] = TRY(start_command(command + arguments, {}, hosts, processes));
  started_.push_back({host, std::move(stream), std::move(errors)});
  return {};
}

void StarterByFiles::watch(std::vector<pollfd>& polled) const {
  for (const Started& each : started_) {
    polled.push_back({each.stream.get(), POLLIN, 0});
    polled.push_back({each.errors.get(), POLLIN, 0});
  }
}

void StarterByFiles::turn(const pollfd* polled, Time now) {
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

/// Reads only complete lines.
void StarterByFiles::read_answers() {
  answers_.emplace(request_.nonce, transport::agent_image().machine, request_.names());
  for (const plan::Host& host : request_.hosts) {
    const std::string text = files_->read("said." + host.name);
    answers_->feed(text.substr(0, text.rfind('\n') + 1));
  }
}

/// Reads stderr first: its last lines must arrive before the end of the command is detected.
void StarterByFiles::read(Started& from) {
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

const StarterByFiles::Started* StarterByFiles::command_of(const std::string& host) const {
  const auto found = std::ranges::find(started_, one_for_all_ ? "" : host, &Started::host);
  return found == started_.end() ? nullptr : &*found;
}

std::optional<transport::Disconnect> StarterByFiles::start_failure(const std::string& host) {
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

bool StarterByFiles::ended() const {
  return one_for_all_ && !started_.empty() &&
         std::ranges::none_of(started_, [](const auto& each) { return static_cast<bool>(each.stream); });
}

void StarterByFiles::close() {
  started_.clear();
  files_.reset();
}

}  // namespace dlaunch::dialback
