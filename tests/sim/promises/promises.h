// The promises; see promise.h. Each is described in its source.
#pragma once

#include "promises/promise.h"

namespace sim {

class NothingLeft final : public Promise {
 public:
  void job_ended(const Facts& facts) override;
  void settled(const Facts& facts) override;
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
