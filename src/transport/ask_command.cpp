#include "transport/ask_command.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
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
constexpr std::chrono::milliseconds kEnds{500};

/// Reads all that comes; false when the time is over before the end.
bool read_to_end(const sys::Fd& from, std::string& text, Clock::time_point deadline, int ended) {
  for (std::array<char, 4096> buffer; text.size() < kLongestAnswer;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    std::array<pollfd, 2> waits{pollfd{from.get(), POLLIN, 0}, pollfd{ended, POLLIN, 0}};
    const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(std::max<long>(left, 0)));
    if (ready == 0 || waits[1].revents != 0) return false;
    if (ready < 0) continue;
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got <= 0) return true;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  return true;
}

/// Ends the command, which has nothing to tidy up. One that closed its output has all but ended.
void end_asked(const Command& command, bool in_time) {
  if (!in_time) command.signal(SIGKILL);
  command.ends_by(Clock::now() + kEnds);
}

std::string said_on(const sys::Fd& errors) {
  std::string text;
  read_to_end(errors, text, Clock::now(), -1);
  return text;
}

}  // namespace

CommandAnswer ask_command(const std::string& line, std::chrono::milliseconds limit, int ended) {
  auto [ours, theirs] = sys::make_socketpair();
  sys::Pipe errors = sys::make_pipe();
  Command command;
  const int error = errors.read ? command.start(line, theirs, errors.write) : errno;
  if (error != 0) return {.text = {}, .trouble = std::strerror(error)};
  theirs.reset();
  errors.write.reset();
  CommandAnswer answer;
  const bool in_time = read_to_end(ours, answer.text, Clock::now() + limit, ended);
  ours.reset();
  end_asked(command, in_time);
  answer.trouble = ssh::last_words(said_on(errors.read));
  if (in_time) return answer;
  return {.text = {}, .trouble = "it did not answer within " + std::to_string(limit.count() / 1000) + " s"};
}

}  // namespace dlaunch::transport
