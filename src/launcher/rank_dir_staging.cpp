#include "launcher/rank_dir_staging.h"

#include <algorithm>
#include <utility>

#include "launcher/components.h"
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

namespace {

class Staging final : public Component {
 public:
  explicit Staging(const Context& context)
      : context_(context),
        staging_(context.plan, context.options, context.facts,
                 [this](int host, const wire::Message& message) { context_.hosts.send(host, message); }) {}

  bool reached(int host) override {
    if (!staging_.needed(host)) return true;
    context_.happened(job::HostReached{host});
    staging_.begin(host);
    return false;
  }

  bool on(int host, wire::Message& message, std::deque<sys::Fd>&) override {
    if (const auto* credit = std::get_if<wire::StageCredit>(&message)) {
      if (!staging_.granted(host, *credit))
        context_.broken(host, "protocol error: the agent granted more --stage data than the launcher sent");
    } else if (const auto* prepared = std::get_if<wire::Prepared>(&message)) {
      end(host, *prepared);
    } else {
      return false;
    }
    return true;
  }

 private:
  void end(int host, const wire::Prepared& prepared) {
    const auto loss = staging_.done(host, prepared);
    if (!loss) return context_.broken(host, "protocol error: unexpected message from the agent");
    loss->why.empty() ? context_.ready(host) : context_.lost(host, *loss);
  }

  const Context& context_;
  RankDirStaging staging_;
};

}  // namespace

std::unique_ptr<Component> make_staging(const Context& context) { return std::make_unique<Staging>(context); }

}  // namespace dlaunch::launcher
