#include "session/error_files.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/environment.h"
#include "base/index_cast.h"
#include "base/try.h"
#include "launcher/frames.h"
#include "output/file_layout.h"
#include "plan/environment.h"
#include "report/torch_error.h"
#include "sys/files.h"
#include "sys/held_directory.h"
#include "sys/helper_process.h"
#include "sys/io.h"

namespace dlaunch::session {
namespace {

constexpr const char* kVariable = "TORCHELASTIC_ERROR_FILE";
constexpr std::size_t kMostBytes = 1U << 20U;
constexpr std::chrono::seconds kDiskWait{5};

}  // namespace

Result<void> add_error_files(const std::string& name, plan::Plan& plan) {
  if (name.empty()) return {};
  const output::FileSettings files{.job = plan.job_id, .by_stream = true, .err_target = name};
  const auto facts = launcher::rank_facts(plan);
  auto apart = output::check_one_rank_a_file(files, facts, output::Sharing::never);
  if (!apart) {
    apart.error().where = "--error-file";
    return apart;
  }
  for (plan::Rank& rank : plan.ranks) {
    if (!plan.host_of(rank).host.local) continue;
    const int ranks = static_cast<int>(plan.ranks.size());
    plan::set_variable(rank.env, plan.app_of(rank).chosen,
                       std::string(kVariable) + "=" +
                           output::file_path(files, at_index(facts, rank.rank), rank.rank, ranks, output::Stream::err));
  }
  return {};
}

Result<void> check_error_files_serve(const std::string& name, const plan::Plan& plan) {
  const auto here = [&](const plan::Rank& rank) { return plan.host_of(rank).host.local; };
  if (name.empty() || std::ranges::any_of(plan.ranks, here)) return {};
  return fail(
      {.where = "--error-file",
       .what = "no rank is on this machine: the option has no effect",
       .why = "",
       .hint = "remove the option: with --restarts or --env-for torchrun, each rank gets an error file on its host"});
}

Result<void> clear_error_files(const plan::Plan& plan) {
  std::vector<std::string> paths;
  for (const plan::Rank& rank : plan.ranks) {
    if (const auto path = variable(rank.env, kVariable)) paths.emplace_back(*path);
  }
  if (paths.empty()) return {};
  auto helper = sys::HelperProcess::start([&](sys::HelperProcess::Ends ends) {  // one byte per path: its errno
    for (const std::string& path : paths) {
      const sys::HeldPlace place = sys::create_file(path) ? sys::HeldPlace::of(path) : sys::HeldPlace();
      const auto error = static_cast<char>(place ? place.directory.remove_file(place.name) : errno);
      sys::write_all(ends.out, {&error, 1});
      if (error != 0) return;
    }
  });
  std::string answers;
  int error = helper ? 0 : errno;
  if (helper) {
    if (auto all = helper->read_all(kDiskWait, &answers)) {
      answers = *std::move(all);
    } else {
      error = errno;
    }
  }
  const std::size_t done = answers.find_first_not_of('\0');
  if (done != std::string::npos) error = static_cast<unsigned char>(answers[done]);
  if (error == 0 && answers.size() == paths.size()) return {};
  return fail({.where = "",
               .what = "cannot create " + paths[std::min({done, answers.size(), paths.size() - 1})],
               .why = sys::why_not_opened(error),
               .hint = "set another path with --error-file",
               .exit_code = kExitRefused});
}

std::optional<ErrorFile> read_error_file(const plan::Plan& plan, int rank, const std::map<int, std::string>& sent) {
  const auto path = variable(plan.rank(rank).env, kVariable);
  if (!path) {
    const auto text = sent.find(rank);
    auto words = report::torch_error_lines(text == sent.end() ? "" : text->second);
    if (words.empty()) return std::nullopt;
    return ErrorFile{kVariable, std::move(words)};
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
