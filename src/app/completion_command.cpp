#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <csignal>

#include "app/commands.h"
#include "ascend/ranktable_arguments.h"
#include "base/environment.h"
#include "base/try.h"
#include "cli/files.h"
#include "cli/subcommands.h"
#include "completion/completion.h"
#include "sys/job_socket.h"

namespace dlaunch::app {
namespace {

constexpr useconds_t kLongestRead = 50'000;  // microseconds

/// Reads a file without a wait: a frozen file system ends the process, a FIFO counts as empty.
tl::expected<std::string, cli::Unreadable> read_at_once(const std::string& path, const cli::ReadLimit& /*limit*/) {
  std::signal(SIGALRM, SIG_DFL);
  ::ualarm(kLongestRead, 0);
  struct stat file{};
  const bool regular = ::stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode);
  auto text = regular ? cli::read_whole_file(path) : std::string();
  ::ualarm(0, 0);
  return text;
}

}  // namespace

Result<int> run_completion(cli::Verb verb, const std::vector<std::string>& args, output::StandardStreams& streams) {
  if (verb == cli::Verb::completion) {
    const auto text = TRY(completion::script_for(args));
    return streams.print(text);
  }
  cli::ChaosRun chaos;
  cli::StacksCommand stacks;
  ascend::RanktableTargets tables;
  char cwd[PATH_MAX];
  const completion::Sources sources{
      .context = {.environment = own_environment(),
                  .cwd = ::getcwd(cwd, sizeof cwd) ? cwd : "",
                  .read_file = read_at_once},
      .commands = {cli::chaos_command(chaos), cli::stacks_command(stacks), ascend::ranktable_command(tables)},
      .jobs = [] {
        std::vector<std::string> ids;
        for (const sys::AskableJob& job : sys::askable_jobs()) ids.push_back(job.job_id);
        return ids;
      }};
  return streams.print(to_text(completion::complete(args, sources)));
}

}  // namespace dlaunch::app
