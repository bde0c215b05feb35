#include "dialback/dial_ins.h"

#include <utility>

namespace dlaunch::dialback {
namespace {

constexpr std::chrono::seconds kStopLimit{3};

}  // namespace

DialIns::DialIns(DialIn how, std::string job_id, Tell tell, std::unique_ptr<transport::Transport> again)
    : how_(std::move(how)), job_id_(std::move(job_id)), tell_(std::move(tell)), again_(std::move(again)) {}

DialIns::~DialIns() { close(); }

Result<transport::Connection> DialIns::open(const plan::Host& host) {
  if (again_ && !known_.insert(host.name).second) {
    tell_.info(host.name + ": by a command of its own");
    return again_->open(host);
  }
  asked_.push_back({host, std::make_shared<Line>()});
  return Line::connection(asked_.back().line);
}

void DialIns::open_together() {
  if (asked_.empty()) return;
  if (running_.empty()) pump_.start();
  Start::Settings settings{how_, job_id_, tell_, pump_.shared()};
  running_.push_back({std::make_shared<Start>(std::move(settings), std::exchange(asked_, {})), {}});
  Start::begin(running_.back().start, running_.back().thread);
}

/// Agents that hear the job's end go by themselves, and their commands follow.
void DialIns::close() {
  pump_.finish(0);
  const Time deadline = Clock::now() + kStopLimit;
  for (Running& each : running_) {
    each.start->stop();
    if (each.thread.join_until(deadline)) each.start->processes().end(transport::Ending::by_signal, tell_.note);
  }
  running_.clear();
  if (again_) again_->close();
}

}  // namespace dlaunch::dialback
