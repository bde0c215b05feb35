#include "app/commands.h"

#include <poll.h>
#include <spdlog/logger.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

#include "base/printable.h"
#include "base/time.h"
#include "base/try.h"
#include "cli/subcommands.h"
#include "report/log.h"
#include "stacks/sample.h"
#include "stacks/sampler.h"
#include "sys/io.h"
#include "sys/job_socket.h"

namespace dlaunch::app {

using output::StandardStreams;

namespace {

constexpr std::chrono::seconds kAnswerWait{15};  // twice the time of a launcher with a silent host
constexpr std::size_t kLongestAnswer = 64u << 20;

constexpr int kNotThere = 1;
constexpr std::size_t kLongestReport = 2u << 20;  // of a process and its descendants
constexpr std::chrono::seconds kLongestTree{10};  // for a process with all its descendants

/// Reads until the end of the stream; nullopt with errno set on a timeout.
std::optional<std::string> read_answer(int fd, std::chrono::steady_clock::time_point until) {
  std::string text;
  for (;;) {
    pollfd ready{fd, POLLIN, 0};
    const int got = ::poll(&ready, 1, milliseconds_until(until));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = ETIMEDOUT;
    if (got <= 0) return std::nullopt;
    char some[64 << 10];
    std::vector<sys::Fd> none;
    const ssize_t size = sys::receive_some(fd, some, none);
    if (size < 0) return std::nullopt;
    if (size == 0 || text.size() > kLongestAnswer) return text;
    text.append(some, static_cast<std::size_t>(size));
  }
}

/// A connection to the launcher of `job_id`; empty with errno set. Another user can take the ID of a job of this user,
/// so each socket with this ID is tried, the sockets of this user first.
sys::Fd connect_to_launcher(std::vector<sys::AskableJob> jobs, std::chrono::steady_clock::time_point until) {
  std::ranges::stable_partition(jobs, [](const sys::AskableJob& job) { return job.uid == ::geteuid(); });
  sys::Fd socket;
  for (const sys::AskableJob& job : jobs) {
    socket = sys::connect_to(job, std::chrono::milliseconds(milliseconds_until(until)));
    if (socket || errno == ETIMEDOUT) break;
  }
  return socket;
}

Result<std::string> ask(const std::string& job_id, bool all) {
  const auto until = std::chrono::steady_clock::now() + kAnswerWait;
  std::vector<sys::AskableJob> jobs = sys::askable_jobs();
  std::erase_if(jobs, [&](const sys::AskableJob& job) { return job.job_id != job_id; });
  if (jobs.empty()) {
    return fail(
        {.where = job_id,
         .what = "unknown job",
         .why = "you do not run this job on this machine; or the job is in its first second or between two rounds",
         .hint = "run dlaunch stacks to list your jobs"});
  }
  const sys::Fd socket = connect_to_launcher(std::move(jobs), until);
  const bool sent = socket && sys::write_all(socket.get(), all ? sys::kWholeQuestion : sys::kQuestion);
  const auto answer = sent ? read_answer(socket.get(), until) : std::nullopt;
  if (answer && !answer->empty()) return *answer;
  if (!answer && errno == ETIMEDOUT) {
    return fail({.where = job_id,
                 .what = "the launcher did not answer",
                 .why = "timed out after " + std::to_string(kAnswerWait.count()) + " s",
                 .hint = "check whether the launcher is suspended (Ctrl-Z); run fg or kill -CONT to continue it"});
  }
  const bool ended = answer || errno == ECONNRESET || errno == EPIPE || errno == ECONNREFUSED;
  return fail({job_id, "the launcher did not answer",
               ended ? "the round or the job has just ended, or other clients are waiting"
                     : std::generic_category().message(errno),
               "run the command again"});
}

Result<int> list_jobs(StandardStreams& streams, spdlog::logger& log) {
  std::string text;
  for (const sys::AskableJob& job : sys::askable_jobs()) text += job.job_id + '\n';
  if (text.empty()) log.warn("you have no running job on this machine");
  return streams.print(text);
}

/// The stacks of a process and its descendants; empty if the process does not exist.
std::string stacks_of(int pid, bool all) {
  stacks::Sampler sampler{.deadline = Clock::now() + kLongestTree, .all_threads = all};
  const auto tree = stacks::take_tree(pid, sampler);
  std::string text;
  if (!tree.processes.front().alive()) return text;
  for (const auto& sample : tree.processes) {
    text += stacks::picture_of(sample, all, kLongestReport - std::min(kLongestReport, text.size()));
  }
  return text;
}

}  // namespace

Result<int> run_stacks(const std::vector<std::string>& args, StandardStreams& streams, spdlog::logger& log) {
  const auto command = TRY(cli::parse_stacks(args));
  if (!command.help.empty()) return streams.print(command.help);
  if (command.words.empty()) return list_jobs(streams, log);
  int exit_code = 0;
  std::string text;
  for (const std::string& word : command.words) {
    const auto pid = cli::process_of(word);
    if (!pid) {
      const auto answer = TRY(ask(word, command.all));
      text += printable_lines(answer);
      continue;
    }
    const std::string stacks_text = stacks_of(*pid, command.all);
    text += stacks_text;
    if (!stacks_text.empty()) continue;
    report::complain(log, {"process " + word, "not found", "", "check the process number with ps"});
    exit_code = kNotThere;
  }
  return streams.print(text, exit_code);
}

}  // namespace dlaunch::app
