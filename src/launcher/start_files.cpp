#include "launcher/start_files.h"

#include <algorithm>
#include <utility>

#include "base/shared_texts.h"

namespace dlaunch::launcher {

bool StartFiles::reached(int host) {
  const std::vector<wire::QueryHost> questions = programs_.ask(host);
  if (!questions.empty()) context_.happened(job::HostReached{host});
  for (const wire::QueryHost& each : questions) context_.hosts.send(host, each);
  if (!holds_hosts()) return true;
  held_hosts_.push_back(host);
  begin_first();
  return false;
}

void StartFiles::lost(int host) {
  programs_.forget(host);
  checked();
}

std::string StartFiles::take(int host, const wire::HostInfo& answer) {
  std::string error = programs_.take(host, answer);
  if (error.empty()) checked();
  return error;
}

void StartFiles::checked() {
  if (asked_ && state_ == State::unchanged) return begin();
  if (programs_.lacks_directory() && state_ == State::unchanged && context_.job.phase() == job::Phase::starting) {
    if (auto refused = programs_.refused(); !refused.empty())
      return context_.happened(job::StartRefused{std::move(refused)});
  }
  if (holds_hosts()) begin_first();
}

void StartFiles::prepare() {
  asked_ = true;
  if (state_ == State::unchanged) return begin();
  if (state_ == State::begun) fill();
}

/// With Round::files_first: begins when all hosts have answered. After the loss of a host with ranks, the ranks do not
/// start: the held hosts then prepare nothing.
void StartFiles::begin_first() {
  if (context_.job.phase() != job::Phase::starting) return;
  const Hosts& hosts = context_.hosts;
  if (!context_.job.outcome().lost_hosts.empty()) {
    for (const int host : std::exchange(held_hosts_, {})) {
      if (!hosts.is_lost(host)) context_.ready(host);
    }
    return;
  }
  std::ptrdiff_t left = std::ranges::count_if(held_hosts_, [&](int host) { return !hosts.is_lost(host); });
  for (int host = 0; host < static_cast<int>(context_.plan.hosts.size()); ++host) left -= hosts.is_lost(host) ? 0 : 1;
  if (state_ == State::unchanged && left == 0) begin();
}

/// Called again after each answer of a host.
void StartFiles::begin() {
  if (programs_.waits() || context_.job.phase() != job::Phase::starting) return;
  if (asked_ && !context_.job.outcome().lost_hosts.empty()) return context_.happened(job::FilesReady{});
  if (auto refused = programs_.refused(); !refused.empty()) {
    return context_.happened(job::StartRefused{std::move(refused)});
  }
  state_ = State::beginning;
  context_.output.begin([this](const Result<void>& own) {
    if (!own) return begun(own);
    state_ = State::others;
    round_.begin_others(lifetime_.guard([this](const Result<void>& others) { begun(others); }));
  });
}

void StartFiles::begun(const Result<void>& result) {
  state_ = State::begun;
  if (context_.job.phase() != job::Phase::starting) return;
  if (!result) {
    const Error& error = result.error();
    const int code = context_.plan.round > 0 ? kExitOutput : error.exit_code;  // ranks ran before
    const std::string where = error.where.empty() ? "" : error.where + ": ";
    return context_.happened(job::OutputFailed{where + what_and_why(error) + '\n' + error.hint, code});
  }
  const bool asked = asked_;  // else the job may ask while the hosts are reached
  for (const int host : std::exchange(held_hosts_, {})) {
    if (!context_.hosts.is_lost(host)) handlers_.reached(host);
  }
  if (asked) fill();
}

void StartFiles::fill() {
  // Hosts empty no directory.
  if (!context_.job.outcome().lost_hosts.empty()) return context_.happened(job::FilesReady{});
  handlers_.fill();
}

std::string StartFiles::waits_for() const {
  const std::string step = state_ == State::others      ? round_.others_step()
                           : state_ == State::beginning ? context_.output.step()
                                                        : "";
  return step.empty() ? "" : kWaitedForDisk + step;
}

}  // namespace dlaunch::launcher
