#include "pmi/spawn.h"

#include <gmock/gmock.h>

namespace dlaunch::pmi {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Reads all of them: whether the last one was the spawn's end.
Result<bool> read(SpawnReader& reader, const std::vector<std::string>& lines) {
  Result<bool> whole = false;
  for (const std::string& line : lines) {
    whole = reader.read(line);
    if (!whole) break;
  }
  return whole;
}

std::string why(const std::vector<std::string>& lines) {
  SpawnReader reader;
  const auto whole = read(reader, lines);
  return whole ? "" : whole.error().what;
}

TEST(SpawnReader, OneProgram) {
  SpawnReader reader;
  const auto whole = read(reader, {"mcmd=spawn",
                                   "nprocs=2",
                                   "execname=/a b/prog",
                                   "totspawns=1",
                                   "spawnssofar=1",
                                   "arg1=-x",
                                   "arg2=k=v w",
                                   "arg3=",
                                   "argcnt=3",
                                   "preput_num=1",
                                   "preput_key_0=PARENT_ROOT_PORT_NAME",
                                   "preput_val_0=tag#0$d=1",
                                   "info_num=3",
                                   "info_key_0=wdir",
                                   "info_val_0=/tmp",
                                   "info_key_1=host",
                                   "info_val_1=n0, n1,",
                                   "info_key_2=x",
                                   "info_val_2=y",
                                   "more=unknown",
                                   "endcmd"});
  ASSERT_TRUE(whole);
  EXPECT_TRUE(*whole);
  const AskSpawn ask = reader.take(4);
  EXPECT_EQ(ask.rank, 4u);
  EXPECT_THAT(ask.programs, ElementsAre(SpawnProgram{{"/a b/prog", "-x", "k=v w", ""}, 2, "/tmp", {}, {"n0", "n1"}}));
  EXPECT_THAT(ask.pairs, ElementsAre("PARENT_ROOT_PORT_NAME", "tag#0$d=1"));
}

TEST(SpawnReader, EndsWithTheLastOfItsBlocks) {
  SpawnReader reader;
  EXPECT_FALSE(
      *read(reader, {"mcmd=spawn", "execname=a", "totspawns=2", "info_key_0=path", "info_val_0=/opt", "endcmd"}));
  EXPECT_TRUE(*read(reader, {"mcmd=spawn", "nprocs=3", "execname=b", "totspawns=2", "info_key_0=env",
                             "info_val_0=A=1 2", "info_key_1=env", "info_val_1=B=", "endcmd"}));
  EXPECT_THAT(reader.take(0).programs,
              ElementsAre(SpawnProgram{{"/opt/a"}, 1, "", {}, {}}, SpawnProgram{{"b"}, 3, "", {"A=1 2", "B="}, {}}));
}

TEST(SpawnReader, APathIsNotForAProgramThatHasOne) {
  SpawnReader reader;
  ASSERT_TRUE(read(reader, {"mcmd=spawn", "info_key_0=path", "info_val_0=/opt", "execname=./a", "endcmd"}));
  EXPECT_EQ(reader.take(0).programs[0].argv[0], "./a");
}

TEST(SpawnReader, WhatIsNoSpawnIsAnError) {
  EXPECT_THAT(why({"mcmd=spawn", "what"}), HasSubstr("no pair"));
  EXPECT_THAT(why({"mcmd=spawn", "=x"}), HasSubstr("no pair"));
  EXPECT_THAT(why({"mcmd=spawn", "cmd=get_maxes"}), HasSubstr("a command within a spawn"));
  EXPECT_THAT(why({"mcmd=spawn", "mcmd=spawn"}), HasSubstr("a command within a spawn"));
  EXPECT_THAT(why({"mcmd=spawn", "totspawns=2", "endcmd", "nprocs=1"}), HasSubstr("between the blocks"));
  EXPECT_THAT(why({"mcmd=spawn", "totspawns=2", "endcmd", "mcmd=spawn", "totspawns=3"}), HasSubstr("so many programs"));
  for (const char* blocks : {"totspawns=0", "totspawns=257", "totspawns=-1", "totspawns=x"}) {
    EXPECT_THAT(why({"mcmd=spawn", blocks}), HasSubstr("so many programs")) << blocks;
  }
  for (const char* ranks : {"nprocs=", "nprocs=-1", "nprocs=1x", "nprocs=2147483648"}) {
    EXPECT_THAT(why({"mcmd=spawn", ranks}), HasSubstr("so many processes")) << ranks;
  }
  EXPECT_THAT(why({"mcmd=spawn", "preput_val_0=x"}), HasSubstr("has no name"));
  EXPECT_THAT(why({"mcmd=spawn", "preput_key_0=" + std::string(65, 'k'), "preput_val_0=x"}), HasSubstr("too long"));
  EXPECT_THAT(why({"mcmd=spawn", "preput_key_0=k", "preput_val_0=" + std::string(1025, 'v')}), HasSubstr("too long"));
  EXPECT_THAT(why(std::vector<std::string>(2, "mcmd=spawn")), HasSubstr("command"));
}

TEST(SpawnReader, HoldsSoMuchAndNoMore) {
  SpawnReader reader;
  ASSERT_TRUE(reader.read("mcmd=spawn"));
  const std::string argument = "arg1=" + std::string(1000, 'x');
  size_t taken = 0;
  while (reader.read(argument)) ++taken;
  EXPECT_EQ(taken, (kMaxSpawn - 11) / (argument.size() + 1));
}

}  // namespace
}  // namespace dlaunch::pmi
