#include "transport/ask_command.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/time.h"
#include "sys/fd.h"
#include "sys/io.h"
#include "transport/command.h"
#include "transport/ssh/proxy.h"

namespace dlaunch::transport {
namespace {

constexpr size_t kLongestAnswer = 1u << 20;
constexpr size_t kMostErrors = 16u << 10;  // bytes: the end of stderr
constexpr std::chrono::milliseconds kEnds{500};

/// Returns the result of one read(2).
ssize_t read_some(const sys::Fd& from, std::string& text) {
  std::array<char, 64u << 10> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  const ssize_t got = TEMP_FAILURE_RETRY(::read(from.get(), buffer.data(), buffer.size()));
  if (got > 0) text.append(buffer.data(), static_cast<size_t>(got));
  return got;
}

/// Reads at most one pipe's content.
void take_errors(sys::Fd& from, std::string& text) {
  const ssize_t got = read_some(from, text);
  if (got == 0 || (got < 0 && errno != EAGAIN)) from.reset();
  if (text.size() > kMostErrors) text.erase(0, text.size() - kMostErrors);
}

/// Reads `from` and `errors` until `from` ends; false: the deadline passed. An unread stderr pipe would block the
/// command.
bool read_to_end(const sys::Fd& from, std::string& text, sys::Fd& errors, std::string& error_text, Time deadline,
                 int ended) {
  while (text.size() < kLongestAnswer) {
    std::array<pollfd, 3> waits{{{from.get(), POLLIN, 0}, {errors.get(), POLLIN, 0}, {ended, POLLIN, 0}}};
    const int ready = ::poll(waits.data(), waits.size(), milliseconds_until(deadline));
    if (ready == 0 || waits[2].revents != 0) return false;
    if (waits[1].revents != 0) take_errors(errors, error_text);
    if (waits[0].revents != 0 && read_some(from, text) <= 0) return true;
    if (waits[0].revents == 0 && Clock::now() >= deadline) return false;
  }
  return true;
}

/// Waits for the command's exit; kills a late command at once, because there is nothing to clean up.
void end_command(const Command& command, bool in_time) {
  if (!in_time) command.signal(SIGKILL);
  command.ends_by(Clock::now() + kEnds);
}

}  // namespace

CommandAnswer ask_command(const std::string& line, std::chrono::milliseconds limit, int ended) {
  auto [ours, theirs] = sys::make_socketpair();
  sys::Pipe errors = sys::make_pipe();
  Command command;
  const int error = errors.read ? command.start_tied(line, theirs, errors.write) : errno;
  if (error != 0) return {.text = {}, .trouble = std::strerror(error)};
  theirs.reset();
  errors.write.reset();
  sys::set_nonblocking(errors.read.get());
  CommandAnswer answer;
  std::string error_text;
  const bool in_time = read_to_end(ours, answer.text, errors.read, error_text, Clock::now() + limit, ended);
  ours.reset();
  end_command(command, in_time);
  if (errors.read) take_errors(errors.read, error_text);
  answer.trouble = ssh::last_lines(error_text);
  if (in_time) return answer;
  return {.text = {}, .trouble = "timed out after " + std::to_string(limit.count() / 1000) + " s"};
}

}  // namespace dlaunch::transport
