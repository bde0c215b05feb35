// Ranks of an LSF job run on the CPUs of its affinity file, unless an option overrides the file.
#include "command_line_fixture.h"

namespace dlaunch::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LsfAffinity : public testing::Test {
 protected:
  LsfAffinity() {
    fixture.environment = {"LSB_JOBID=12", "LSB_MCPU_HOSTS=a 2 b 1", "LSB_AFFINITY_HOSTFILE=/affinity"};
    fixture.files = {{"/affinity", "a 0,1\na 2,3\nb 0,1 0 1\n"}, {"/cwd/h", "c slots=2\n"}};
  }

  Words places(const Words& args) const {
    Words all;
    for (const plan::RankPlace& place : fixture.options(args).request.rank_places) {
      all.push_back(std::to_string(place.rank) + "=" + place.host + " " + place.slots);
    }
    return all;
  }

  CommandLineFixture fixture;
};

TEST_F(LsfAffinity, BindsEachRankToItsLine) {
  EXPECT_THAT(places({"x"}), ElementsAre("0=a p0-1", "1=a p2-3", "2=b p0-1"));
  EXPECT_THAT(places({"-n", "2", "x"}), ElementsAre("0=a p0-1", "1=a p2-3"));
  EXPECT_THAT(places({"-n", "1", "x", ":", "-n", "1", "y"}), ElementsAre("0=a p0-1", "1=a p2-3"));
  fixture.program_name = "mpirun";
  EXPECT_THAT(places({"x"}), ElementsAre("0=a p0-1", "1=a p2-3", "2=b p0-1"));
  EXPECT_FALSE(fixture.options({"x"}).request.bind_by_count);
}

TEST_F(LsfAffinity, OptionsOverrideTheFile) {
  for (const Words& args : {Words{"-N", "1"}, Words{"--bind-to", "none"}, Words{"--map-by", "node"}, Words{"-H", "c:2"},
                            Words{"--hostfile", "h"}, Words{"--cpu-list", "0"}, Words{"--ignore-resource-manager"},
                            Words{"--restarts", "1"}}) {
    Words line = args;
    line.emplace_back("x");
    EXPECT_THAT(places(line), IsEmpty()) << testing::PrintToString(args);
  }
}

TEST_F(LsfAffinity, DoesNotBindMoreRanksThanLines) {
  EXPECT_THAT(places({"-n", "4", "x"}), IsEmpty());
  EXPECT_THAT(fixture.options({"-n", "4", "x"}).notes, ElementsAre(HasSubstr("LSB_AFFINITY_HOSTFILE")));
}

TEST_F(LsfAffinity, RejectsAnUnreadableFile) {
  fixture.files.erase("/affinity");
  EXPECT_THAT(fixture.error({"x"}), HasSubstr("LSB_AFFINITY_HOSTFILE: cannot read "));
  EXPECT_THAT(places({"--ignore-resource-manager", "x"}), IsEmpty());
}

TEST_F(LsfAffinity, IgnoresTheFileOutsideLsf) {
  fixture.environment = {"SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=a", "LSB_AFFINITY_HOSTFILE=/affinity"};
  EXPECT_THAT(places({"x"}), IsEmpty());
}

}  // namespace
}  // namespace dlaunch::cli
