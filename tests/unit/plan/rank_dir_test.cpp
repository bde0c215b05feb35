// A directory for each rank: names, PWD, and rejected templates.
#include "plan/rank_dir.h"

#include <gmock/gmock.h>

#include "requests.h"

namespace dlaunch::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Request with_dirs(std::string text, int ranks = 2) {
  Request asked = request(ranks);
  asked.rank_dir = std::move(text);
  return asked;
}

std::vector<std::string> dirs_of(const Request& asked, const Allocation& allocation) {
  const auto plan = make_plan(asked, allocation);
  if (!plan) return {to_text(plan.error())};
  std::vector<std::string> dirs;
  for (const Rank& rank : plan->ranks) dirs.push_back(rank.dir);
  return dirs;
}

std::vector<std::string> named(const std::vector<std::string>& environment, std::string_view name) {
  std::vector<std::string> found;
  for (const std::string& entry : environment) {
    if (entry.starts_with(std::string(name) + '=')) found.push_back(entry);
  }
  return found;
}

TEST(RankDir, IsBelowTheWorkingDirectory) {
  EXPECT_THAT(dirs_of(with_dirs("device{rank}"), local(2)), ElementsAre("/work/device0", "/work/device1"));
  EXPECT_THAT(dirs_of(with_dirs("./a/../b{rank}/"), local(2)), ElementsAre("/work/b0", "/work/b1"));
  EXPECT_THAT(dirs_of(with_dirs("/scratch/{rank}"), local(2)), ElementsAre("/scratch/0", "/scratch/1"));
}

TEST(RankDir, ReplacesEveryField) {
  Allocation allocation = hosts({2, 1});
  allocation.hosts[0].devices = {4, 5};
  EXPECT_THAT(dirs_of(with_dirs("{host}/{local_rank}-{device}-{rank}", 3), allocation),
              ElementsAre("/work/n0/0-4-0", "/work/n0/1-5-1", "/work/n1/0---2"));
}

TEST(RankDir, IsBelowAHostsOwnDirectory) {
  Allocation allocation = hosts({1, 1});
  allocation.hosts[1].wdir = "/data";
  EXPECT_THAT(dirs_of(with_dirs("d{rank}"), allocation), ElementsAre("/work/d0", "/data/d1"));
}

TEST(RankDir, IsItsPwd) {
  Request asked = with_dirs("d{rank}");
  asked.environment.emplace_back("PWD=/outer");
  Allocation allocation = hosts({1, 1});
  allocation.hosts[1].wdir = "/data";
  const auto plan = make_plan(asked, allocation);
  ASSERT_TRUE(plan);
  EXPECT_THAT(named(rank_environment(*plan, plan->ranks[0]), "PWD"), ElementsAre("PWD=/work/d0"));
  EXPECT_THAT(named(rank_environment(*plan, plan->ranks[1]), "PWD"), ElementsAre("PWD=/data/d1"));
  asked.apps[0].env = {{"PWD", "/mine"}};
  const auto chosen = make_plan(asked, allocation);
  EXPECT_THAT(named(rank_environment(*chosen, chosen->ranks[1]), "PWD"), ElementsAre("PWD=/mine"));
}

TEST(RankDir, RejectsTheWorkingDirectoryAndItsParents) {
  for (const char* text : {".", "..", "/", "/work", "/work/", "d{rank}/.."}) {
    EXPECT_THAT(dirs_of(with_dirs(text, 1), local(2)), ElementsAre(HasSubstr("the working directory"))) << text;
  }
  EXPECT_THAT(dirs_of(with_dirs("/wor", 1), local(2)), ElementsAre("/wor"));
  EXPECT_THAT(dirs_of(with_dirs("../worker{rank}", 1), local(2)), ElementsAre("/worker0"));
}

TEST(RankDir, RejectsSharedDirectories) {
  EXPECT_THAT(dirs_of(with_dirs("d"), local(2)),
              ElementsAre(HasSubstr("duplicate directory \"/work/d\": ranks 0 and 1")));
  EXPECT_THAT(dirs_of(with_dirs("d"), local(2)), ElementsAre(HasSubstr("add {rank}")));
  EXPECT_THAT(dirs_of(with_dirs("d{local_rank}"), hosts({1, 1})), ElementsAre(HasSubstr("add {host}")));
  EXPECT_THAT(dirs_of(with_dirs("d", 1), local(2)), ElementsAre("/work/d"));
}

TEST(RankDir, RejectsInvalidTemplates) {
  EXPECT_TRUE(check_rank_dir("d{rank}"));
  EXPECT_FALSE(check_rank_dir(""));
  EXPECT_FALSE(check_rank_dir("d{rank"));
  EXPECT_THAT(to_text(check_rank_dir("d{rnk}").error()), HasSubstr("use {rank}, or another field of:"));
}

TEST(RankDir, IsInThePlanAsShown) {
  const auto plan = make_plan(with_dirs("d{rank}"), local(2));
  EXPECT_THAT(to_table(*plan), HasSubstr("/work/d1"));
  EXPECT_THAT(to_json(*plan), HasSubstr(R"("directory": "/work/d1")"));
}

}  // namespace
}  // namespace dlaunch::plan
