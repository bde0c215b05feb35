// What the ranks do: their progress, hangs, and stack reports, also for `dlaunch stacks`.
#include <utility>

#include "launcher/components.h"
#include "launcher/progress_watch.h"
#include "launcher/stack_watch.h"
#include "launcher/stacks_server.h"

namespace dlaunch::launcher {
namespace {

constexpr int kTicksToStacksServer = 5;  // a shorter job needs no stacks server

class RankWatch final : public Component {
 public:
  explicit RankWatch(const Context& context)
      : context_(context),
        progress_(context.plan, context.options, context.log),
        stacks_(context.io,
                {context.plan, context.options, context.hosts, context.job, progress_, context.log, context.happened}),
        server_(context.io,
                [this](bool whole, StacksServer::Answer answer) { stacks_.ask(whole, std::move(answer)); }) {
    if (!context.options.progress) return;
    context.output.observe([this](int number, output::Stream stream, std::string_view bytes) {
      bytes.empty() ? progress_.ended(number, stream) : progress_.fed(number, stream, bytes);
    });
  }

  void prepare(job::Job& job) override { job.show_stacks_first(); }

  bool on(int host, wire::Message& message, std::deque<sys::Fd>&) override {
    auto* const stacks = std::get_if<wire::Stacks>(&message);
    if (stacks) context_.broken(host, stacks_.received(host, std::move(*stacks)));
    return stacks != nullptr;
  }

  void host_lost(int host, const HostFailure&) override { stacks_.host_lost(host); }

  void perform(const job::Action& action) override {
    if (const auto* take = std::get_if<job::TakeStacks>(&action)) stacks_.take_before_end(take->why);
  }

  bool on_signal(int signal) override {
    if (signal != context_.options.stacks_on) return false;
    stacks_.show();
    return true;
  }

  void tick(job::Progress& progress) override {
    progress.reached = progress_.all();
    const bool all_taken = context_.output.all_taken();
    if (progress.reached) progress_.poll(context_.job.running(), all_taken);
    stacks_.poll(context_.output.fed(), !all_taken);
    if (context_.job.phase() == job::Phase::running && ++running_ticks_ == kTicksToStacksServer) {
      server_.open(context_.plan.job_id);
    }
  }

  void ended(job::Outcome& outcome) override {
    progress_.record(outcome.ranks);
    if (outcome.cause == job::Cause::success) progress_.succeeded();
  }

 private:
  const Context& context_;
  ProgressWatch progress_;
  StackWatch stacks_;
  StacksServer server_;
  int running_ticks_ = 0;
};

}  // namespace

std::unique_ptr<Component> make_rank_watch(const Context& context) { return std::make_unique<RankWatch>(context); }

}  // namespace dlaunch::launcher
