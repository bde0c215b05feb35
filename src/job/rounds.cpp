#include "job/rounds.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <utility>
#include <variant>

#include "base/shared_texts.h"
#include "base/text.h"
#include "job/failure_line.h"

namespace dlaunch::job {
namespace {

constexpr std::array kNotFixable = {2, 126, 127};
constexpr int kMostDoublings = 6;

/// The detail of a lost host contains the name of the host.
std::string describe_failure(const Outcome& outcome) {
  if (outcome.cause != Cause::rank_failed || !outcome.first_failure) return outcome.detail;
  const RankRecord& rank = outcome.ranks[static_cast<std::size_t>(*outcome.first_failure)];
  return rank.status ? rank.status->describe() : outcome.detail;
}

/// How the first failed rank ended, as one kind of status; nullptr: in another way.
template <class Kind>
const Kind* first_failure_as(const Outcome& outcome) {
  if (outcome.cause != Cause::rank_failed || !outcome.first_failure) return nullptr;
  const RankRecord& rank = outcome.ranks[static_cast<std::size_t>(*outcome.first_failure)];
  return rank.status ? std::get_if<Kind>(&rank.status->value()) : nullptr;
}

/// Whether the host is a more likely cause of the first failure than the program.
bool is_hosts_own(const Outcome& outcome) {
  const auto* signaled = first_failure_as<Signaled>(outcome);
  return (signaled && signaled->signal == SIGBUS) || first_failure_as<NotStarted>(outcome);
}

/// Whether the host had too many processes or too little memory for a rank. Both may change.
bool may_start_later(const Outcome& outcome) {
  const auto* not_started = first_failure_as<NotStarted>(outcome);
  return not_started && (not_started->error == EAGAIN || not_started->error == ENOMEM);
}

}  // namespace

std::string Rounds::refusal(const Outcome& outcome, int spares) const {
  if (left_processes(outcome.leftovers) > outcome.unswept.size())
    return "some processes of the failed round may be left";
  if (!policy_.shrink && outcome.lost_hosts.size() > static_cast<std::size_t>(spares)) {
    const std::string lost = outcome.lost_hosts.front().name + " is lost";
    return spares == 0
               ? lost + ", and no spare host is left"
               : std::to_string(outcome.lost_hosts.size()) + " hosts are lost, but only " +
                     count(static_cast<std::size_t>(spares), "spare host") + (spares == 1 ? " is" : " are") + " left";
  }
  const std::string code = std::to_string(outcome.exit_code);
  if (outcome.cause != Cause::rank_failed) return {};
  if (policy_.no_restart_codes.contains(outcome.exit_code)) {
    return "exit code " + code + " is in --no-restart-codes";
  }
  if (number_ == 0 && !may_start_later(outcome) &&
      std::ranges::find(kNotFixable, outcome.exit_code) != kNotFixable.end()) {
    return "a restart cannot fix exit code " + code + " of the first start";
  }
  return {};
}

bool Rounds::is_alike(const Failure& failure) const {
  return failure.how == last_.how && (failure.line.empty() || last_.line.empty() || failure.line == last_.line);
}

Rounds::Verdict Rounds::ended(const Outcome& outcome, Duration lived, int spares, const std::string& failed_on,
                              const std::vector<std::string>& last_lines, Time now) {
  if (!outcome.may_restart) return {.why_not = outcome.no_restart};
  if (std::string why = refusal(outcome, spares); !why.empty()) return {.why_not = std::move(why)};
  const bool is_short = lived < kLong;
  Failure failure{describe_failure(outcome), failure_line(last_lines)};
  const bool continues = is_short && alike_ > 0 && is_alike(failure);
  if (continues && failure.line.empty()) failure.line = last_.line;  // so that the line of the next round is compared
  alike_ = continues ? alike_ + 1 : is_short ? 1 : 0;
  short_ = is_short ? short_ + 1 : 0;
  last_ = std::move(failure);
  if (alike_ >= kAlike) {
    return {.why_not = "the job failed in the same way " + std::to_string(kAlike) + " times", .in_vain = true};
  }
  ++number_;
  Verdict verdict{.again = true};
  const bool too_often = is_hosts_own(outcome) && ++guilt_[failed_on] >= kGuilty;
  const bool is_lost = std::ranges::find(outcome.lost_hosts, failed_on, &LostHost::name) != outcome.lost_hosts.end();
  const bool spare_left = static_cast<std::size_t>(spares) > outcome.lost_hosts.size();
  if (too_often && !is_lost && spare_left) verdict.replaced = failed_on;
  auto& wait = verdict.wait;
  if (short_ > 1) wait = std::min(kLongestWait, std::chrono::seconds(1 << std::min(short_ - 2, kMostDoublings)));
  for (const Unswept& host : outcome.unswept) all_gone_by_ = std::max(all_gone_by_, host.gone_by.value_or(now));
  verdict.start_at = std::max(now + wait, all_gone_by_);
  wait = std::chrono::ceil<std::chrono::seconds>(verdict.start_at - now);
  return verdict;
}

}  // namespace dlaunch::job
