// The plan's sidecar process. RankOrder and the outputs number it after the last rank.
#include <spdlog/logger.h>

#include <string>
#include <utility>

#include "launcher/components.h"
#include "launcher/rank_messages.h"

namespace dlaunch::launcher {
namespace {

class Sidecar final : public Component {
 public:
  explicit Sidecar(const Context& context) : context_(context), number_(static_cast<int>(context.plan.ranks.size())) {}

  void prepare(job::Job& job) override {
    if (const auto& planned = context_.plan.sidecar) {
      job.expect_sidecar(planned->serves ? std::chrono::seconds(0) : job::kSidecarWait);
    }
  }

  bool on(int host, wire::Message& message, std::deque<sys::Fd>& fds) override {
    if (const auto* started = std::get_if<wire::Started>(&message); started && is(started->rank)) {
      if (const std::string why = context_.output.opened(host, *started, fds); !why.empty()) {
        context_.broken(host, why);
        return true;
      }
      pid_ = started->pid;
      context_.log.debug("the {} started, pid {}", context_.plan.sidecar->name, pid_);
      return true;
    }
    if (const auto* refused = std::get_if<wire::SpawnFailed>(&message); refused && is(refused->rank)) {
      report_end(ExitStatus(NotStarted{static_cast<int>(refused->error), refused->what}));
      context_.output.abandon(number_);
      return true;
    }
    if (const auto* end = std::get_if<wire::Ended>(&message); end && is(end->rank)) {
      report_end(exit_status(*end));
      context_.output.ended(number_);
      return true;
    }
    return false;
  }

  void host_gone(int host) override {
    if (!context_.plan.sidecar || context_.plan.sidecar->host != host || (over_ && drained_)) return;
    over_ = true;
    drained_ ? report_if_gone() : context_.output.abandon(number_);
  }

  void drained(int number) override {
    if (!context_.plan.sidecar || number != number_) return;
    drained_ = true;
    report_if_gone();
  }

 private:
  bool is(std::uint32_t number) const { return context_.plan.sidecar && static_cast<int>(number) == number_; }

  void report_end(const ExitStatus& status) {
    over_ = true;
    std::string text = "the " + context_.plan.sidecar->name + " (host " + host_name();
    if (pid_ != 0) text += ", pid " + std::to_string(pid_);
    text += ") " + status.describe();
    const bool alone = context_.job.phase() == job::Phase::running;  // still running, even without a running rank
    context_.happened(job::SidecarEnded{status, text});
    context_.log.debug(text);
    if (!status.ok() && alone && context_.job.phase() == job::Phase::running) context_.log.warn(text);
    report_if_gone();
  }

  const std::string& host_name() const { return context_.plan.host(context_.plan.sidecar->host).host.name; }

  void report_if_gone() {
    if (over_ && drained_) context_.happened(job::SidecarGone{});
  }

  const Context& context_;
  const int number_;
  std::uint32_t pid_ = 0;
  bool over_ = false;
  bool drained_ = false;
};

}  // namespace

std::unique_ptr<Component> make_sidecar(const Context& context) { return std::make_unique<Sidecar>(context); }

}  // namespace dlaunch::launcher
