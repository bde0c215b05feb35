// Rules for each row of the table: a member that needs another one has it.
#include <gtest/gtest.h>

#include <set>

#include "place/manager_row.h"
#include "place/place.h"

namespace dlaunch::place {
namespace {

TEST(Managers, RowsAreComplete) {
  std::set<std::string_view> names;
  for (const ManagerRow* const row : managers()) {
    SCOPED_TRACE(row->name);
    EXPECT_TRUE(names.insert(row->name).second);
    EXPECT_TRUE(row->job || row->node) << "nothing recognizes the system";
    if (row->job) {
      EXPECT_TRUE(row->hosts || row->hosts_in);
    }
    if (row->hosts_in) {
      EXPECT_FALSE(row->hosts_program.empty() || row->hosts_variable.empty());
    }
    if (!row->nodes_variable.empty()) {
      EXPECT_TRUE(row->node);
    }
    if (row->command || row->dial_in || row->command_of_files) {
      EXPECT_FALSE(row->ways.empty());
    }
    if (row->gpus_command) {
      EXPECT_TRUE(row->step_gpus && row->gpu_words);
    }
    if (row->kill_wait) {
      EXPECT_TRUE(row->kill_wait_in);
    }
    for (const Way& way : row->ways) {
      EXPECT_FALSE(way.programs.empty());
      if (!way.transport.empty()) {
        EXPECT_FALSE(row->outside.empty() || row->start_in.empty());
      }
    }
  }
}

TEST(Managers, EndOfAJobHasItsParsers) {
  for (const std::vector<std::string>& environment :
       {std::vector<std::string>{"SLURM_JOB_ID=5", "SLURM_JOB_NODELIST=a"}, {"SGE_ROOT=/sge", "JOB_ID=5", "QUEUE=q"}}) {
    const auto own = read_place(environment, {}).end;
    ASSERT_TRUE(own);
    EXPECT_EQ(own->preemption.end_command.empty(), !own->manager->end_in);
    EXPECT_EQ(own->preemption.grace_command.empty(), !own->manager->grace_in);
  }
  EXPECT_FALSE(read_place({"PBS_NODEFILE=/nodes", "PBS_JOBID=1"}, {}).end);
}

TEST(Managers, ReadsTheEndThatSqueuePrints) {
  EXPECT_EQ(kSlurm.end_in("1700000000\n1700000001\n"), 1700000000);
  EXPECT_FALSE(kSlurm.end_in("N/A\n"));
  EXPECT_FALSE(kSlurm.end_in(""));
}

TEST(Managers, KillWaitIsInTheFileOfTheJob) {
  EXPECT_EQ(kSlurm.kill_wait({"SLURM_CONF=/etc/slurm.conf"}).file, "/etc/slurm.conf");
  EXPECT_EQ(kSlurm.kill_wait({}).command, "scontrol show config");
}

}  // namespace
}  // namespace dlaunch::place
