#include "place/line_meaning.h"

#include <gtest/gtest.h>

namespace dlaunch::place {
namespace {

/// Messages of Slurm 22.05.
TEST(LineMeaning, RecognizesStepEndedBySlurm) {
  EXPECT_EQ(meaning_of("slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-22T14:35:19 ***"),
            LineMeaning::cancelled);
  EXPECT_EQ(meaning_of("srun: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-22T14:35:19 ***"), LineMeaning::cancelled);
  EXPECT_EQ(meaning_of("slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-22T14:35:19 ***"),
            LineMeaning::cancelled);
  EXPECT_EQ(meaning_of("slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-22T14:35:19 DUE TO TIME LIMIT ***"),
            LineMeaning::time_limit);
  EXPECT_EQ(meaning_of("srun: error: n1: task 0: Exited with exit code 1"), LineMeaning::unknown);
  EXPECT_EQ(meaning_of("bash: *** STEP 1.0 ON n1 CANCELLED"), LineMeaning::unknown);
}

TEST(LineMeaning, DistinguishesFailedNodeFromCancel) {
  const LineMeaning failed = meaning_of(
      "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-22T14:35:19 DUE TO NODE FAILURE, SEE SLURMCTLD LOG "
      "FOR "
      "DETAILS ***");
  EXPECT_EQ(failed, LineMeaning::node_failed);
  EXPECT_TRUE(ends_step(failed));
  EXPECT_FALSE(is_order(failed));
  EXPECT_TRUE(is_order(LineMeaning::time_limit));
}

TEST(LineMeaning, RecognizesFailedTaskLaunch) {
  EXPECT_EQ(meaning_of("srun: error: Task launch for StepId=130.0 failed on node n3: Communication connection failure"),
            LineMeaning::refused);
  EXPECT_EQ(meaning_of("srun: error: Application launch failed: Communication connection failure"),
            LineMeaning::unknown);
}

TEST(LineMeaning, RecognizesJobEndedBySlurm) {
  EXPECT_EQ(meaning_of("srun: error: Slurm job 1 has expired"), LineMeaning::job_ended);
  EXPECT_EQ(meaning_of("srun: error: Unable to confirm allocation for job 9: Invalid job id specified"),
            LineMeaning::job_ended);
  EXPECT_EQ(meaning_of("srun: error: Unable to create step for job 1: Requested nodes are busy"), LineMeaning::unknown);
  EXPECT_EQ(meaning_of("the password has expired"), LineMeaning::unknown);
  EXPECT_EQ(meaning_of("srun: error: Task launch for StepId=9.0 failed on node n1: Invalid job id specified"),
            LineMeaning::job_ended)
      << "no other launch can succeed";
  EXPECT_TRUE(leaves_nothing(LineMeaning::job_ended));
  EXPECT_FALSE(leaves_nothing(LineMeaning::refused));
}

/// A message of Grid Engine 8.1.9.
TEST(LineMeaning, GivesHintForTaskRefusedByGridEngine) {
  EXPECT_NE(hint_about("error: executing task of job 2 failed: execution daemon on host \"n2\" didn't accept task"),
            "");
  EXPECT_EQ(hint_about("error: executing task of job 2 failed: failed sending task to execd@n2: can't find"), "");
}

TEST(LineMeaning, RecognizesHarmlessRemark) {
  EXPECT_EQ(meaning_of("srun: cluster configuration lacks support for cpu binding"), LineMeaning::noise);
  EXPECT_EQ(meaning_of("srun: job 5 queued and waiting for resources"), LineMeaning::unknown);
  EXPECT_EQ(meaning_of("srun: error: n1: task 0: Killed"), LineMeaning::unknown);
}

}  // namespace
}  // namespace dlaunch::place
