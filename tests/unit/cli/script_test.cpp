#include "cli/script.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace dlaunch::cli {
namespace {

/// The script's name; "-" without a script.
std::string script(const std::string& line) {
  const auto found = script_of(split(line, ' '));
  return found ? found->name : "-";
}

TEST(Script, IsTheFirstWordAfterTheOptions) {
  EXPECT_EQ(script("python3 train.py --epochs 3"), "train.py");
  EXPECT_EQ(script("/opt/venv/bin/python3.11 -u -B ../train.py"), "../train.py");
  EXPECT_EQ(script("pypy3 train.py"), "train.py");
  EXPECT_EQ(script("sh job.sh -c x"), "job.sh");
  EXPECT_EQ(script("perl -w job.pl"), "job.pl");
  EXPECT_EQ(script("julia --project=. job.jl"), "job.jl");
  EXPECT_EQ(script("Rscript --vanilla job.R"), "job.R");
  EXPECT_EQ(script("python3 -- -odd.py"), "-odd.py");
}

TEST(Script, SkipsValuesOfOptions) {
  EXPECT_EQ(script("python3 -W ignore -Xdev -X importtime -uB train.py"), "train.py");
  EXPECT_EQ(script("python3 --check-hash-based-pycs never train.py"), "train.py");
  EXPECT_EQ(script("bash -eo pipefail --rcfile mine +x +o posix job.sh"), "job.sh");
  EXPECT_EQ(script("bash --rcfile=mine - job.sh"), "job.sh");
  EXPECT_EQ(script("perl -I lib -Ilib -Mstrict -i.bak -0777 job.pl"), "job.pl");
  EXPECT_EQ(script("julia -t 4 --threads 4 -O3 -p2 job.jl"), "job.jl");
  EXPECT_EQ(script("ruby -r json -W0 job.rb"), "job.rb");
  EXPECT_EQ(script("lua5.4 -e x=1 job.lua"), "job.lua");
}

TEST(Script, IsMissingForInlinePrograms) {
  for (const char* line :
       {"python3", "python3 -m torch.distributed.run train.py", "python3 -c pass x.py", "python3 -uc pass x.py",
        "python3 -mpdb x.py", "python3 - x.py", "python3 -V", "bash -lc x", "sh -ec x y", "bash -s x",
        "perl -lane print x", "julia -e 1 x", "julia --eval=1 x", "Rscript -e 1", "python3 -W ignore", "python3 -W"}) {
    EXPECT_EQ(script(line), "-") << line;
  }
}

TEST(Script, IsMissingForOtherPrograms) {
  EXPECT_EQ(script("./train.py x"), "-");
  EXPECT_EQ(script("my-python x"), "-");
  EXPECT_EQ(script("true x"), "-");
  EXPECT_EQ(script("3.14 x"), "-");
  EXPECT_EQ(script_of({}), std::nullopt);
}

TEST(Script, BashSearchesThePath) {
  EXPECT_TRUE(script_of({"bash", "job.sh"})->in_path);
  EXPECT_FALSE(script_of({"dash", "job.sh"})->in_path);
  EXPECT_FALSE(script_of({"python3", "train.py"})->in_path);
}

}  // namespace
}  // namespace dlaunch::cli
