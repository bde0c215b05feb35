#include "transport/command_words.h"

#include <gtest/gtest.h>

namespace dlaunch::transport {
namespace {

TEST(CommandWords, RecognizeLoginClosedBySshd) {
  EXPECT_TRUE(is_dropped_login("Connection closed by 10.0.0.3 port 22"));
  EXPECT_TRUE(is_dropped_login("kex_exchange_identification: read: Connection reset by peer"));
  EXPECT_TRUE(is_dropped_login("ssh_exchange_identification: Connection closed by remote host"));
  EXPECT_FALSE(is_dropped_login("kex_exchange_identification: banner line 0: HTTP/1.1 400 Bad Request"));
  EXPECT_FALSE(is_dropped_login("Permission denied (publickey)."));
}

/// Messages of Slurm 22.05.
TEST(CommandWords, RecognizeStepEndedBySlurm) {
  EXPECT_TRUE(is_ended_step("slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-22T14:35:19 ***"));
  EXPECT_TRUE(
      is_ended_step("slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-22T14:35:19 DUE TO TIME LIMIT ***"));
  EXPECT_FALSE(is_ended_step("srun: error: n1: task 0: Exited with exit code 1"));
  EXPECT_FALSE(is_ended_step("bash: *** STEP 1.0 ON n1 CANCELLED"));
}

TEST(CommandWords, DistinguishFailedNodeFromCancel) {
  EXPECT_TRUE(
      is_failed_node("slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-22T14:35:19 DUE TO NODE "
                     "FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***"));
  EXPECT_FALSE(is_failed_node("slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-22T14:35:19 ***"));
}

TEST(CommandWords, RecognizeFailedTaskLaunch) {
  EXPECT_TRUE(is_failed_launch(
      "srun: error: Task launch for StepId=130.0 failed on node n3: Communication connection failure"));
  EXPECT_FALSE(is_failed_launch("srun: error: Application launch failed: Communication connection failure"));
}

TEST(CommandWords, RecognizeJobEndedBySlurm) {
  EXPECT_TRUE(is_ended_job("srun: error: Slurm job 1 has expired"));
  EXPECT_TRUE(is_ended_job("srun: error: Unable to confirm allocation for job 9: Invalid job id specified"));
  EXPECT_FALSE(is_ended_job("srun: error: Unable to create step for job 1: Requested nodes are busy"));
  EXPECT_FALSE(is_ended_job("the password has expired"));
}

/// A message of Grid Engine 8.1.9.
TEST(CommandWords, GiveHintForTaskRefusedByGridEngine) {
  EXPECT_NE(hint_about("error: executing task of job 2 failed: execution daemon on host \"n2\" didn't accept task"),
            "");
  EXPECT_EQ(hint_about("error: executing task of job 2 failed: failed sending task to execd@n2: can't find"), "");
}

TEST(CommandWords, RecognizeHarmlessRemark) {
  EXPECT_TRUE(is_remark("srun: cluster configuration lacks support for cpu binding"));
  EXPECT_FALSE(is_remark("srun: job 5 queued and waiting for resources"));
  EXPECT_FALSE(is_remark("srun: error: n1: task 0: Killed"));
}

}  // namespace
}  // namespace dlaunch::transport
