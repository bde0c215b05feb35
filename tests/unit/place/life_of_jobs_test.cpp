#include <gmock/gmock.h>

#include "place/manager_row.h"
#include "place/place.h"

namespace dlaunch::place {
namespace {

using testing::Eq;
using testing::Optional;

std::optional<Attempt> attempt_of(const Environment& environment) { return read_place(environment, {}).attempt; }

TEST(JobLife, ReadsTheCountOfSlurm) {
  EXPECT_THAT(attempt_of({"SLURM_JOB_ID=5"}), Optional(Eq(Attempt{0})));
  EXPECT_THAT(attempt_of({"SLURM_JOB_ID=5", "SLURM_RESTART_COUNT=2"}), Optional(Eq(Attempt{2})));
  EXPECT_THAT(attempt_of({"SLURM_JOB_ID=5", "SLURM_RESTART_COUNT=x"}), Optional(Eq(Attempt{0})));
}

TEST(JobLife, GridEngineAndLsfHaveNoCount) {
  EXPECT_THAT(attempt_of({"SGE_ROOT=/sge", "JOB_ID=5", "RESTARTED=0"}), Optional(Eq(Attempt{0})));
  EXPECT_THAT(attempt_of({"SGE_ROOT=/sge", "JOB_ID=5", "RESTARTED=1"}), Optional(Eq(Attempt{1, false})));
  EXPECT_THAT(attempt_of({"LSB_JOBID=5"}), Optional(Eq(Attempt{0})));
  EXPECT_THAT(attempt_of({"LSB_JOBID=5", "LSB_RESTART=Y"}), Optional(Eq(Attempt{1, false})));
}

TEST(JobLife, TheUserMaySetTheAttempt) {
  EXPECT_THAT(attempt_of({"DLAUNCH_ATTEMPT=3"}), Optional(Eq(Attempt{3})));
  EXPECT_THAT(attempt_of({"DLAUNCH_ATTEMPT=3", "SLURM_JOB_ID=5", "SLURM_RESTART_COUNT=1"}), Optional(Eq(Attempt{3})));
  EXPECT_FALSE(attempt_of({"DLAUNCH_ATTEMPT=", "SLURM_RESTART_COUNT=1", "RESTARTED=1"}));
}

TEST(JobLife, ReadsTheEndOfTheJob) {
  EXPECT_THAT(kSlurm.preemption({"SLURM_JOB_ID=5", "SLURM_JOB_NODELIST=a", "SLURM_JOB_END_TIME=1795312060"})->end,
              Optional(1795312060));
  EXPECT_FALSE(kSlurm.preemption({"SLURM_JOB_NODELIST=a", "SLURM_JOB_END_TIME=1795312060"})->end);
  EXPECT_FALSE(kSlurm.preemption({"SLURM_JOB_ID=5", "SLURM_JOB_NODELIST=a", "SLURM_JOB_END_TIME=-1"})->end);
}

TEST(JobLife, ReadsTheTimeBeforeKillOfSlurm) {
  EXPECT_THAT(kSlurm.kill_wait_in("KeepAliveTime           = 300 sec\nKillOnBadExit           = 0\n"
                                  "KillWait                = 30 sec\n"),
              Optional(30));
  EXPECT_THAT(kSlurm.kill_wait_in("ClusterName=x\n killwait=5 # KillWait=7\n"), Optional(5));
  EXPECT_THAT(kSlurm.kill_wait_in("KillWait=0\n"), Optional(0));
}

TEST(JobLife, DoesNotKnowTheTimeBeforeKillWithoutTheWholeConfiguration) {
  for (const char* text : {"", "#KillWait=5", "KillWait=", "KillWait=x", "KillWait=-1", "KillWait=99999999999",
                           "KillWait=5\nInclude /etc/slurm/more.conf\n"}) {
    EXPECT_FALSE(kSlurm.kill_wait_in(text)) << text;
  }
}

TEST(JobLife, ReadsThePortsOfSrun) {
  const auto ports = kSlurm.dial_in({}, "srun", {})->ports_in;
  EXPECT_THAT(ports("A = 1\nSrunPortRange           = 60001-60100\nB = 2\n"), Optional(PortRange{60001, 60100}));
  EXPECT_THAT(ports("ClusterName=a\nsrunPORTrange=1-2 # a range\n"), Optional(PortRange{1, 2}));
  for (const char* text :
       {"", "SrunPortRange = 0-0\n", "OtherPortRange = 1-2\n", "SrunPortRange\n", "ClusterName=a\nSlurmdPort=6818\n"}) {
    EXPECT_THAT(ports(text), Optional(PortRange{})) << text;
  }
  for (const char* text : {"SrunPortRange = 2-1\n", "SrunPortRange = x\n", "SrunPortRange = 1-70000\n"}) {
    EXPECT_FALSE(ports(text)) << text;
  }
  for (const char* text :
       {"KillWait=60 SrunPortRange=1-2\n", "SrunPortRange=1-2\tKillWait=60\n", "SrunPortRange = 1-\\\n2\n"}) {
    EXPECT_THAT(ports(text), Optional(PortRange{1, 2})) << text;
  }
  EXPECT_FALSE(ports("Include /etc/slurm/ports.conf\nSrunPortRange=1-2\n")) << "the file may change the range";
}

TEST(JobLife, ReadsTheTimeBeforeKillOfPbs) {
  EXPECT_THAT(kPbs.kill_wait_in("Queue: workq\n    queue_type = Execution\n    kill_delay = 45\n    enabled = True\n"),
              Optional(45));
  for (const char* text :
       {"", "Queue: workq\n    enabled = True\n", "kill_delay = x", "kill_delay", "x_kill_delay = 5"}) {
    EXPECT_FALSE(kPbs.kill_wait_in(text)) << text;
  }
}

TEST(JobLife, ReadsTheTimeBeforeKillOfGridEngine) {
  EXPECT_THAT(kGridEngine.grace_in("qname                 all.q\nnotify                00:01:30\n"),
              Optional(std::chrono::seconds(90)));
  EXPECT_THAT(kGridEngine.grace_in("notify                60\n"), Optional(std::chrono::seconds(60)));
  for (const char* text : {"", "notify", "notify INFINITY", "notify 00:00:60,[@big=00:01:00]", "s_notify 00:00:60",
                           "notify -1", "notify ::"}) {
    EXPECT_FALSE(kGridEngine.grace_in(text)) << text;
  }
}

}  // namespace
}  // namespace dlaunch::place
