#include "session/error_files.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "base/environment.h"
#include "base/index_cast.h"
#include "launcher/frames.h"
#include "output/file_layout.h"
#include "output/joint_errors.h"
#include "plan/environment.h"
#include "report/torch_error.h"
#include "sys/file_lock.h"
#include "sys/files.h"
#include "sys/held_directory.h"
#include "sys/helper_process.h"
#include "sys/io.h"

namespace dlaunch::session {
namespace {

using launcher::kErrorFileVariable;
constexpr std::size_t kMostBytes = 1U << 20U;
constexpr std::chrono::seconds kDiskWait{5};
constexpr std::chrono::seconds kRemoveWait{1};
constexpr std::string_view kEmpty = "e";

struct LockedFile {
  sys::Fd file;
  sys::Created created = {};
};

/// Creates and locks a file. Returns an errno; EWOULDBLOCK: another job has the lock.
int lock(const std::string& path, std::vector<LockedFile>& files) {
  LockedFile locked;
  locked.file = sys::create_file(path, 0, &locked.created);
  struct stat facts{};
  int error = !locked.file || ::fstat(locked.file.get(), &facts) != 0 ? errno : 0;
  if (error == 0 && !S_ISREG(facts.st_mode)) return 0;
  if (error == 0 && sys::lock_file(locked.file.get())) error = EWOULDBLOCK;
  if (error == 0 || !locked.created.directories.empty()) files.push_back(std::move(locked));
  return error;
}

/// The work of the process that holds the locks. Sends one byte per path, its errno, and stops after the first failure.
/// Empties the files when it gets a byte, and then closes its output. At the end of its input, removes
/// empty files, and created directories that are empty.
void hold(const std::vector<std::string>& paths, sys::HelperProcess::Ends ends) {
  std::vector<LockedFile> files;
  char error = 0;
  for (size_t i = 0; i < paths.size() && error == 0 && !ends.gave_up(); ++i) {
    error = static_cast<char>(lock(paths[i], files));
    sys::write_all(ends.out, {&error, 1});
  }
  bool emptied = false;
  for (char word = 0; error == 0;) {
    const ssize_t got = ::read(ends.in, &word, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (ends.gave_up()) break;
    for (const LockedFile& each : files) emptied = ::ftruncate(each.file.get(), 0) == 0 || emptied;
    ::shutdown(ends.out, SHUT_RDWR);
  }
  for (const LockedFile& each : files) {
    if (each.file && (emptied || each.created.file)) sys::remove_if_empty(each.file);
  }
  for (auto each = files.rbegin(); each != files.rend(); ++each) sys::remove_made(each->created.directories);
}

}  // namespace

Result<plan::Plan> with_error_files(const std::string& name, plan::Plan plan) {
  if (name.empty()) return plan;
  const output::FileSettings files{.job = plan.job_id, .by_stream = true, .err_target = name};
  const auto facts = launcher::rank_facts(plan);
  auto apart = output::check_one_rank_a_file(files, facts, output::Sharing::never);
  if (!apart) {
    apart.error().where = "--error-file";
    return tl::unexpected(std::move(apart).error());
  }
  for (plan::Rank& rank : plan.ranks) {
    if (!plan.host_of(rank).host.local) continue;
    const int ranks = static_cast<int>(plan.ranks.size());
    plan::set_variable(rank.env, plan.app_of(rank).chosen,
                       std::string(kErrorFileVariable) + "=" +
                           output::file_path(files, at_index(facts, rank.rank), rank.rank, ranks, output::Stream::err));
  }
  return plan;
}

Result<void> check_error_files_serve(const std::string& name, const plan::Plan& plan) {
  const auto here = [&](const plan::Rank& rank) { return plan.host_of(rank).host.local; };
  if (name.empty() || std::ranges::any_of(plan.ranks, here)) return {};
  return fail({.where = "--error-file",
               .what = "no rank is on this machine: the option has no effect",
               .why = "",
               .hint = "remove the option; to get an error file for each rank on its host, "
                       "use --restarts N or --env-for torchrun"});
}

static tl::unexpected<Error> refused(std::string step, int error) {
  if (error == ETIMEDOUT) return fail(output::no_answer(step));
  return fail({.where = "",
               .what = "cannot " + step,
               .why = error == EWOULDBLOCK ? "another job writes there" : sys::why_not_opened(error),
               .hint = "set another path with --error-file",
               .exit_code = kExitRefused});
}

static tl::unexpected<Error> cannot_empty(int error) {
  return refused("empty the error files of an earlier job", error);
}

Result<std::unique_ptr<LockedErrorFiles>> LockedErrorFiles::open(const plan::Plan& plan) {
  std::vector<std::string> paths = launcher::error_files(plan);
  if (paths.empty()) return nullptr;
  auto holder = sys::HelperProcess::start([&](sys::HelperProcess::Ends ends) { hold(paths, ends); });
  if (!holder) return refused("create " + paths.front(), errno);
  return std::unique_ptr<LockedErrorFiles>(new LockedErrorFiles(std::move(paths), *std::move(holder)));
}

Result<void> LockedErrorFiles::lock(const sys::Wait& wait) {
  int error = 0;
  if (auto all = holder_.read_all(kDiskWait, &answers_, paths_.size(), wait)) {
    answers_ = *std::move(all);
  } else {
    error = errno;
  }
  auto result = locked(error);
  if (!result && error == 0) holder_.wait(kDiskWait);  // it removes what it created
  return result;
}

std::string LockedErrorFiles::step() const {
  return all_locked() ? "empty the error files of an earlier job" : "create " + paths_[answers_.size()];
}

/// `error`: of the wait for the answers.
Result<void> LockedErrorFiles::locked(int error) const {
  const std::size_t done = answers_.find_first_not_of('\0');
  if (done != std::string::npos) error = static_cast<unsigned char>(answers_[done]);
  if (error == 0 && all_locked()) return {};
  return refused("create " + paths_[std::min({done, answers_.size(), paths_.size() - 1})], error);
}

void LockedErrorFiles::empty(asio::io_context& io, Emptied emptied) {
  if (!sys::write_all(holder_.in().get(), kEmpty)) return emptied(cannot_empty(errno));
  emptied_ = std::move(emptied);
  late_ = std::make_unique<launcher::Deadline>(io, [this] { end_wait(ETIMEDOUT); });
  ended_ = std::make_unique<launcher::Readiness>(io, holder_.out().get(), launcher::Readiness::For::reading);
  await_answers();
}

/// The output of the process ends when the files are empty.
void LockedErrorFiles::await_answers() {
  late_->set(Clock::now() + kDiskWait);
  ended_->wait([this] {
    std::array<char, 4096> some{};
    const ssize_t got = ::read(holder_.out().get(), some.data(), some.size());
    if (got > 0) answers_.append(some.data(), static_cast<std::size_t>(got));
    got > 0 ? await_answers() : end_wait(0);
  });
}

void LockedErrorFiles::end_wait(int error) {
  late_->set({});
  if (!emptied_) return;
  auto result = locked(error);
  if (result && error != 0) result = cannot_empty(error);
  std::exchange(emptied_, {})(result);
}

LockedErrorFiles::~LockedErrorFiles() {
  holder_.close_in();
  if (!holder_.wait(kRemoveWait)) holder_.leave();  // removes its files when the disk responds
}

std::optional<ErrorFile> read_error_file(const plan::Plan& plan, int rank, const std::map<int, std::string>& sent) {
  const auto path = variable(plan.rank(rank).env, kErrorFileVariable);
  if (!path) {
    const auto text = sent.find(rank);
    auto words = report::torch_error_lines(text == sent.end() ? "" : text->second);
    if (words.empty()) return std::nullopt;
    return ErrorFile{kErrorFileVariable, std::move(words)};
  }
  const auto helper = sys::HelperProcess::start([&](sys::HelperProcess::Ends ends) {
    if (const auto text = sys::read_regular_file(std::string(*path), kMostBytes)) sys::write_all(ends.out, *text);
  });
  const auto text = helper ? helper->read_all(kDiskWait) : std::nullopt;
  auto words = report::torch_error_lines(text.value_or(""));
  if (words.empty()) return std::nullopt;
  return ErrorFile{std::string(*path), std::move(words)};
}

}  // namespace dlaunch::session
