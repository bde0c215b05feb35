// The facts of a world that several promises use, by cause. An Observer.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "world/faults.h"
#include "world/observer.h"
#include "world/world.h"

namespace sim {

class History : public Observer {
 public:
  struct Failure {
    int rank;
    int round;
    int host;
    Ns time;
    int wait_status;
  };
  struct Text {
    Ns time;
    std::string lines;
  };

  explicit History(World& world) : world_(world) {}

  void ended(const Process& process) override {
    if (process.kind != Process::Kind::rank || process.end != Process::End::by_itself || process.wait_status == 0)
      return;
    if (process.aborted) return;  // that was its failure
    failures_.push_back({process.rank, process.round, process.host, world_.now(), process.wait_status});
  }
  void aborted(const Process& process) override {
    failures_.push_back({process.rank, process.round, process.host, world_.now(), kAbortCode << 8});
  }
  void not_forked(int host, int rank) override { not_forked_.push_back({rank, world_.round(), host, world_.now(), 0}); }
  void fault(const Fault& fault, bool ends) override {
    if (ends) return;
    met_.insert(fault.kind);
    of_[kind_of(fault).of].push_back({fault, world_.now()});
    ++faults_at_[fault.host];
    if (fault.kind == "refuse") refusing_.insert(fault.host);
    if (kind_of(fault).of == FaultKind::Of::host) impaired_.emplace(fault.host, world_.now());
  }
  void launcher_stopped(Ns) override { stopped_ = true; }
  void printed(std::string_view lines) override { texts_.push_back({world_.now(), std::string(lines)}); }

  /// Ranks that failed by themselves, in the order of the true time.
  const std::vector<Failure>& failures() const { return failures_; }
  /// Ranks that the agent could not fork; without a wait status.
  const std::vector<Failure>& not_forked() const { return not_forked_; }
  /// Hosts with a fault of the host, and the time of the first.
  const std::map<int, Ns>& impaired() const { return impaired_; }
  /// Hosts that accept no login, at least for a time.
  const std::set<int>& refusing() const { return refusing_; }
  /// The number of faults at the host.
  int faults_at(int host) const {
    const auto found = faults_at_.find(host);
    return found == faults_at_.end() ? 0 : found->second;
  }
  bool met(const std::string& kind) const { return met_.contains(kind); }
  bool launcher_was_stopped() const { return stopped_; }
  size_t count(FaultKind::Of of) const {
    const auto found = of_.find(of);
    return found == of_.end() ? 0 : found->second.size();
  }
  std::optional<Ns> first(FaultKind::Of of) const {
    const auto found = of_.find(of);
    return found == of_.end() ? std::nullopt : std::optional(found->second.front().second);
  }
  /// The launcher stood still for longer than the lease of agents whose hosts may be replaced
  /// (docs/restart-after-failure.md). Such agents end their ranks.
  bool outlasted_lease() const {
    const Scenario& s = world_.scenario();
    if (s.restarts == 0 || (s.spares == 0 && !s.shrink && s.idle == 0)) return false;
    Ns most = 0;
    for (const auto& [of, faults] : of_) {
      for (const auto& [fault, time] : faults) {
        if (fault.kind.starts_with("pause")) most += fault.length > 0 ? fault.length : 25 * kSecond;
      }
    }
    return most > 14 * kSecond;
  }
  bool user_signalled() const { return count(FaultKind::Of::user) > 0; }
  bool user_signalled_again() const { return count(FaultKind::Of::user) > 1; }
  /// Whether a batch system acted in this way.
  bool managed_by(const std::string& kind) const { return met(kind); }
  bool managed() const { return count(FaultKind::Of::manager) > 0; }
  const std::vector<Text>& texts() const { return texts_; }
  bool was_printed(const std::string& text) const {
    for (const Text& each : texts_) {
      if (each.lines.find(text) != std::string::npos) return true;
    }
    return false;
  }
  /// Whether a line has both texts.
  bool has_line(const std::string& text, const std::string& other) const {
    for (const Text& each : texts_) {
      for (size_t at = 0; at < each.lines.size();) {
        const size_t end = std::min(each.lines.find('\n', at), each.lines.size());
        const std::string line = each.lines.substr(at, end - at);
        if (line.find(text) != std::string::npos && line.find(other) != std::string::npos) return true;
        at = end + 1;
      }
    }
    return false;
  }

 private:
  World& world_;
  std::vector<Failure> failures_;
  std::vector<Failure> not_forked_;
  std::map<int, Ns> impaired_;
  std::set<int> refusing_;
  std::map<int, int> faults_at_;
  std::set<std::string> met_;
  std::map<FaultKind::Of, std::vector<std::pair<Fault, Ns>>> of_;
  std::vector<Text> texts_;
  bool stopped_ = false;  // the launcher was
};

}  // namespace sim
