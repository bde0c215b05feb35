#include "launcher/command_words.h"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

/// As Slurm 22.05 has them.
TEST(CommandWords, TellWhenSlurmHasEndedAStep) {
  EXPECT_TRUE(is_ended_step("slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-22T14:35:19 ***"));
  EXPECT_TRUE(
      is_ended_step("slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-22T14:35:19 DUE TO TIME LIMIT ***"));
  EXPECT_FALSE(is_ended_step("srun: error: n1: task 0: Exited with exit code 1"));
  EXPECT_FALSE(is_ended_step("bash: *** STEP 1.0 ON n1 CANCELLED"));
}

TEST(CommandWords, TellWhenSlurmHasEndedAJob) {
  EXPECT_TRUE(is_ended_job("srun: error: Slurm job 1 has expired"));
  EXPECT_TRUE(is_ended_job("srun: error: Unable to confirm allocation for job 9: Invalid job id specified"));
  EXPECT_FALSE(is_ended_job("srun: error: Unable to create step for job 1: Requested nodes are busy"));
  EXPECT_FALSE(is_ended_job("the password has expired"));
}

}  // namespace
}  // namespace dlaunch::launcher
