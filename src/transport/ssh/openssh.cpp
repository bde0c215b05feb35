#include "transport/ssh/openssh.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "sys/fd.h"
#include "sys/installed.h"
#include "sys/io.h"
#include "transport/command.h"
#include "transport/ssh/proxy.h"

namespace dlaunch::transport::ssh {
namespace {

constexpr size_t kLongestAnswer = 1u << 20;
constexpr std::chrono::milliseconds kEnds{500};
constexpr const char* kInEveryAnswer = "hostname ";  // every answer has it

std::string question(const std::string& host, const Said& said) {
  std::string line = "ssh -G";
  if (!said.user.empty()) line += " -l " + shell_quote(said.user);
  if (said.port) line += " -p " + std::to_string(*said.port);
  return line + " -- " + shell_quote(host);
}

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

/// Ends the client, which has nothing to tidy up. One that closed its output has all but ended.
void end(const Command& command, bool in_time) {
  if (!in_time) command.signal(SIGKILL);
  command.ends_by(Clock::now() + kEnds);
}

std::string said_on(const sys::Fd& errors) {
  std::string text;
  read_to_end(errors, text, Clock::now(), -1);
  return text;
}

bool is_answer(const std::string& text) {
  return text.starts_with(kInEveryAnswer) || text.find(std::string("\n") + kInEveryAnswer) != std::string::npos;
}

}  // namespace

OpenSshAnswer ask_openssh(const std::string& host, const Said& said, const SshContext& context,
                          std::chrono::milliseconds limit, int ended) {
  if (!sys::is_in_path("ssh", context.variable("PATH").value_or("/usr/bin:/bin")))
    return {.installed = false, .text = {}, .trouble = {}};
  auto [ours, theirs] = sys::make_socketpair();
  sys::Pipe errors = sys::make_pipe();
  Command command;
  const int error = errors.read ? command.start(question(host, said), theirs, errors.write) : errno;
  if (error != 0) return {.text = {}, .trouble = std::strerror(error)};
  theirs.reset();
  errors.write.reset();
  OpenSshAnswer answer{.text = {}, .trouble = {}};
  const bool in_time = read_to_end(ours, answer.text, Clock::now() + limit, ended);
  ours.reset();
  end(command, in_time);
  if (in_time && is_answer(answer.text)) return answer;
  answer.text.clear();
  answer.trouble = in_time ? last_words(said_on(errors.read))
                           : "it did not answer within " + std::to_string(limit.count() / 1000) + " s";
  return answer;
}

}  // namespace dlaunch::transport::ssh
