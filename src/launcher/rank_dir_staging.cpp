#include "launcher/rank_dir_staging.h"

#include <spdlog/logger.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "launcher/components.h"
#include "launcher/frames.h"

namespace dlaunch::launcher {

RankDirStaging::RankDirStaging(const plan::Plan& plan, const JobOptions& settings,
                               const std::vector<output::RankFacts>& facts, Send send)
    : plan_(plan), settings_(settings), facts_(facts), send_(std::move(send)) {}

bool RankDirStaging::needed(int host) const {
  if (plan_.host(host).since_round < plan_.round) return false;  // the directories exist already, with the ranks' files
  const bool has_dirs = !plan_.ranks.empty() && !plan_.ranks.front().dir.empty();
  return has_dirs && (!plan_.host(host).ranks.empty() || plan_.round > 0);  // without ranks: unlocks its directories
}

void RankDirStaging::begin(int host, Time now) {
  progress_[host] = {.waiting = true, .credit = wire::kStageCredit, .since = now};
  send_(host, prepare_frame(plan_, host, settings_, facts_));
}

void RankDirStaging::fill(Time now) {
  for (auto& [host, progress] : progress_) {
    progress.waiting = progress.filling = true;
    progress.since = now;
    settings_.staged ? send_staged(host, progress) : send_(host, wire::Stage{.bytes = "", .eof = true});
  }
}

bool RankDirStaging::waits() const {
  return std::ranges::any_of(progress_, [](const auto& each) { return each.second.waiting; });
}

bool RankDirStaging::granted(int host, const wire::StageCredit& credit, Time now) {
  const auto found = progress_.find(host);
  if (found == progress_.end() || !found->second.filling) return false;
  if (credit.bytes > wire::kStageCredit - found->second.credit) return false;
  found->second.credit += credit.bytes;
  found->second.since = now;
  if (found->second.waiting && settings_.staged) send_staged(host, found->second);
  return true;
}

/// Only the last piece has `eof`; an archive is never empty.
void RankDirStaging::send_staged(int host, Progress& progress) {
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
  const auto found = progress_.find(host);
  if (found == progress_.end()) return std::nullopt;
  const bool expected = std::exchange(found->second.waiting, false) || !prepared.why.empty();
  return expected ? std::optional(HostFailure{prepared.why, prepared.hint}) : std::nullopt;
}

std::string RankDirStaging::note(Time now) {
  std::vector<std::string> late;
  std::string dir;
  for (const auto& [host, progress] : progress_) {
    if (noted_ || !progress.waiting || now - progress.since < kNoteAfter) continue;
    const plan::PlannedHost& planned = plan_.host(host);
    late.push_back(planned.host.name);
    if (dir.empty()) dir = plan_.rank(planned.ranks.front()).dir;
  }
  if (late.empty()) return {};
  noted_ = true;
  return "still waiting for the rank directories of " + fold_names(late) + ", such as " + dir;
}

namespace {

class Staging final : public Component {
 public:
  explicit Staging(const Context& context)
      : context_(context),
        staging_(context.plan, context.options, context.facts,
                 [this](int host, const wire::Message& message) { context_.hosts.send(host, message); }) {}

  void files_begun() override {
    filling_ = true;
    staging_.fill(Clock::now());
    check_filled();
  }

  void host_gone(int host) override {
    staging_.forget(host);
    check_filled();
  }

  bool reached(int host) override {
    if (!staging_.needed(host)) return true;
    context_.happened(job::HostReached{host});
    staging_.begin(host, Clock::now());
    return false;
  }

  bool on(int host, wire::Message& message, std::deque<sys::Fd>&) override {
    if (const auto* credit = std::get_if<wire::StageCredit>(&message)) {
      if (!staging_.granted(host, *credit, Clock::now()))
        context_.broken(host, "protocol error: the agent granted more --stage data than the launcher sent");
    } else if (const auto* prepared = std::get_if<wire::Prepared>(&message)) {
      end(host, *prepared);
    } else {
      return false;
    }
    return true;
  }

  void tick(job::Progress&) override {
    if (context_.job.phase() != job::Phase::starting) return;
    if (const std::string late = staging_.note(Clock::now()); !late.empty()) context_.log.warn(late);
  }

 private:
  void end(int host, const wire::Prepared& prepared) {
    const auto loss = staging_.done(host, prepared);
    if (!loss) return context_.broken(host, "protocol error: unexpected message from the agent");
    if (!loss->why.empty() && context_.job.phase() != job::Phase::starting) return;  // start_files.h refused the job
    if (!loss->why.empty()) return context_.lost(host, *loss);
    filling_ ? check_filled() : context_.ready(host);
  }

  void check_filled() {
    if (filling_ && !staging_.waits() && !std::exchange(filled_, true)) context_.happened(job::FilesReady{});
  }

  const Context& context_;
  RankDirStaging staging_;
  bool filling_ = false;
  bool filled_ = false;
};

}  // namespace

std::unique_ptr<Component> make_staging(const Context& context) { return std::make_unique<Staging>(context); }

}  // namespace dlaunch::launcher
