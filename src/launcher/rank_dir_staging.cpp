#include "launcher/rank_dir_staging.h"

#include <algorithm>
#include <utility>

#include "launcher/frames.h"

namespace dlaunch::launcher {

RankDirStaging::RankDirStaging(const plan::Plan& plan, const JobOptions& settings,
                               const std::vector<output::RankFacts>& facts, Send send)
    : plan_(plan), settings_(settings), facts_(facts), send_(std::move(send)) {}

bool RankDirStaging::needed(int host) const {
  if (plan_.host(host).since_round < plan_.round) return false;  // the directories exist already, with the ranks' files
  const std::vector<int>& ranks = plan_.host(host).ranks;
  return !ranks.empty() && !plan_.rank(ranks.front()).dir.empty();
}

void RankDirStaging::begin(int host) {
  Progress& progress = progress_[host];
  progress = {true, 0, wire::kStageCredit};
  send_(host, prepare_frame(plan_, host, settings_, facts_));
  if (settings_.staged) send_staged(host);
}

bool RankDirStaging::granted(int host, const wire::StageCredit& credit) {
  const auto found = progress_.find(host);
  if (found == progress_.end() || credit.bytes > wire::kStageCredit - found->second.credit) return false;
  found->second.credit += credit.bytes;
  if (found->second.waiting && settings_.staged) send_staged(host);
  return true;
}

/// Only the last piece has `eof`; an archive is never empty.
void RankDirStaging::send_staged(int host) {
  Progress& progress = progress_[host];
  const std::string& archive = *settings_.staged;
  while (progress.credit > 0 && progress.sent < archive.size()) {
    const size_t left = archive.size() - progress.sent;
    const auto size = std::min<size_t>({left, wire::kMaxOutput, progress.credit});
    send_(host, wire::Stage{archive.substr(progress.sent, size), size == left});
    progress.sent += size;
    progress.credit -= static_cast<std::uint32_t>(size);
  }
}

std::optional<HostFailure> RankDirStaging::done(int host, const wire::Prepared& prepared) {
  if (!std::exchange(progress_[host].waiting, false)) return std::nullopt;
  return HostFailure{prepared.why, prepared.hint};
}

}  // namespace dlaunch::launcher
