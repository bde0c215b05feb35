#include "dialback/manager_transport.h"

#include <utility>

namespace dlaunch::dialback {
namespace {

constexpr std::chrono::seconds kStopLimit{3};

}  // namespace

ManagerTransport::ManagerTransport(DialIn how, Welcome welcome, Messages messages,
                                   std::unique_ptr<transport::Transport> again)
    : how_(std::move(how)), welcome_(std::move(welcome)), messages_(std::move(messages)), again_(std::move(again)) {}

ManagerTransport::~ManagerTransport() { close(); }

Result<transport::Connection> ManagerTransport::open(const plan::Host& host) {
  if (again_ && !known_.insert(host.name).second) {
    messages_.info(host.name + ": started by a separate command");
    return again_->open(host);
  }
  asked_.push_back({host, std::make_shared<NodeConnection>()});
  return NodeConnection::connection(asked_.back().connection);
}

void ManagerTransport::open_together() {
  if (asked_.empty()) return;
  if (running_.empty()) pump_.start();
  AgentGroup::Settings settings{how_, welcome_, messages_, pump_.shared()};
  running_.push_back({std::make_shared<AgentGroup>(std::move(settings), std::exchange(asked_, {})), {}});
  AgentGroup::begin(running_.back().group, running_.back().thread);
}

/// Agents exit by themselves after the end of the job, and their commands follow.
void ManagerTransport::close() {
  pump_.finish(0);
  const Time deadline = Clock::now() + kStopLimit;
  for (Running& each : running_) {
    each.group->stop();
    if (each.thread.join_until(deadline)) each.group->processes().end(transport::Ending::by_signal, messages_.note);
  }
  running_.clear();
  if (again_) again_->close();
}

}  // namespace dlaunch::dialback
