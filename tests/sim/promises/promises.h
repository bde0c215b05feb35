// The promises; see promise.h. Each is described in its source.
#pragma once

#include "promises/promise.h"

namespace sim {

class NothingLeft final : public Promise {
 public:
  void job_ended(const Facts& facts) override;
  void settled(const Facts& facts) override;

 private:
  std::set<int> unreachable_;  // hosts, at the end of the job
};

class Ends final : public Promise {
 public:
  explicit Ends(World& world) : world_(world) {}
  void fault(const Fault& fault, bool ends) override;
  void began(const Process& process) override;
  void job_ended(const Facts& facts) override;

 private:
  World& world_;
  std::optional<Ns> at_;       // of the fault
  std::optional<Ns> running_;  // the first rank began
  std::optional<Ns> next_;     // the first rank of the next round began
};

class FirstFailure final : public Promise {
 public:
  void job_ended(const Facts& facts) override;

 private:
  void rank_failed(const Facts& facts);
  void host_lost(const Facts& facts);
};

class Bytes final : public Promise {
 public:
  void job_ended(const Facts& facts) override;

 private:
  void check_input(const Facts& facts);
};

class OneOfARank final : public Promise {
 public:
  explicit OneOfARank(World& world) : world_(world) {}
  void began(const Process& process) override;

 private:
  World& world_;
};

class Restarts final : public Promise {
 public:
  void job_ended(const Facts& facts) override;
};

}  // namespace sim
