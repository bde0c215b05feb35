#include "pmi/spawn.h"

#include <gmock/gmock.h>

#include "pmi/line.h"

namespace dlaunch::pmi {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Reads all lines. Returns whether the last line ended the spawn request.
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

TEST(SpawnReader, ReadsOneProgram) {
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

TEST(SpawnReader, EndsWithTheLastBlock) {
  SpawnReader reader;
  EXPECT_FALSE(
      *read(reader, {"mcmd=spawn", "execname=a", "totspawns=2", "info_key_0=path", "info_val_0=/opt", "endcmd"}));
  EXPECT_TRUE(*read(reader, {"mcmd=spawn", "nprocs=3", "execname=b", "totspawns=2", "info_key_0=env",
                             "info_val_0=A=1 2", "info_key_1=env", "info_val_1=B=", "endcmd"}));
  EXPECT_THAT(reader.take(0).programs,
              ElementsAre(SpawnProgram{{"/opt/a"}, 1, "", {}, {}}, SpawnProgram{{"b"}, 3, "", {"A=1 2", "B="}, {}}));
}

TEST(SpawnReader, IgnoresPathForAProgramWithADirectory) {
  SpawnReader reader;
  ASSERT_TRUE(read(reader, {"mcmd=spawn", "info_key_0=path", "info_val_0=/opt", "execname=./a", "endcmd"}));
  EXPECT_EQ(reader.take(0).programs[0].argv[0], "./a");
}

TEST(SpawnReader, RejectsMalformedSpawnRequest) {
  EXPECT_THAT(why({"mcmd=spawn", "what"}), HasSubstr("not KEY=VALUE"));
  EXPECT_THAT(why({"mcmd=spawn", "=x"}), HasSubstr("not KEY=VALUE"));
  EXPECT_THAT(why({"mcmd=spawn", "cmd=get_maxes"}), HasSubstr("a command within a spawn"));
  EXPECT_THAT(why({"mcmd=spawn", "mcmd=spawn"}), HasSubstr("a command within a spawn"));
  EXPECT_THAT(why({"mcmd=spawn", "totspawns=2", "endcmd", "nprocs=1"}), HasSubstr("text outside"));
  EXPECT_THAT(why({"mcmd=spawn", "totspawns=2", "endcmd", "mcmd=spawn", "totspawns=3"}),
              HasSubstr("invalid number of programs"));
  for (const char* blocks : {"totspawns=0", "totspawns=257", "totspawns=-1", "totspawns=x"}) {
    EXPECT_THAT(why({"mcmd=spawn", blocks}), HasSubstr("invalid number of programs")) << blocks;
  }
  for (const char* ranks : {"nprocs=", "nprocs=-1", "nprocs=1x", "nprocs=2147483648"}) {
    EXPECT_THAT(why({"mcmd=spawn", ranks}), HasSubstr("invalid number of processes")) << ranks;
  }
  EXPECT_THAT(why({"mcmd=spawn", "preput_val_0=x"}), HasSubstr("a key that is empty or too long"));
  EXPECT_THAT(why({"mcmd=spawn", "preput_key_0=" + std::string(65, 'k'), "preput_val_0=x"}), HasSubstr("too long"));
  EXPECT_THAT(why({"mcmd=spawn", "preput_key_0=k", "preput_val_0=" + std::string(1025, 'v')}),
              HasSubstr("value that is too long"));
  EXPECT_THAT(why(std::vector<std::string>(2, "mcmd=spawn")), HasSubstr("command"));
}

TEST(SpawnReader, ErrorOmitsValues) {
  SpawnReader reader;
  ASSERT_TRUE(reader.read("mcmd=spawn"));
  Result<bool> read = false;
  while (read) read = reader.read("info_val_0=KEY=secret");
  EXPECT_EQ(read.error().why, "\"info_val_0\"");
  SpawnReader twice;
  ASSERT_TRUE(twice.read("mcmd=spawn") && twice.read("totspawns=2") && twice.read("endcmd"));
  EXPECT_EQ(twice.read("info_val_0=KEY=secret").error().why, "\"info_val_0\"");
}

TEST(SpawnReader, LimitsItsSize) {
  SpawnReader reader;
  ASSERT_TRUE(reader.read("mcmd=spawn"));
  const std::string argument = "arg1=" + std::string(1000, 'x');
  size_t taken = 0;
  while (reader.read(argument)) ++taken;
  EXPECT_EQ(taken, (kMaxSpawn - 11) / (argument.size() + 1));
}

constexpr std::string_view kOne = "cmd=spawn;ncmds=1;preputcount=0;subcmd=a;maxprocs=1;argc=0;";

Result<AskSpawn> read_frame(std::string_view text) {
  return parse_frame(text).and_then([](const PmiLine& line) { return read_spawn(line, 4); });
}

std::string why_frame(std::string_view text) {
  const auto ask = read_frame(text);
  return ask ? "" : ask.error().what;
}

TEST(SpawnFrame, ParsesTheSameFieldsAsLines) {
  const auto ask = read_frame(
      "cmd=spawn;thrid=0x1;ncmds=2;preputcount=2;ppkey0=PORT;ppval0=tag#0$d=1;;x;ppkey1=empty;ppval1=;"
      "subcmd=prog;maxprocs=2;argc=3;argv0=-x;argv1=k=v w\n;argv2=;"
      "infokeycount=5;infokey0=wdir;infoval0=/tmp;infokey1=host;infoval1=n0, n1,;infokey2=x;infoval2=y;"
      "infokey3=path;infoval3=/opt;infokey4=env;infoval4=A=1;;2;"
      "subcmd=b;maxprocs=3;argc=1;argv0=1;infokeycount=0;");
  ASSERT_TRUE(ask) << ask.error().what;
  EXPECT_EQ(ask->rank, 4u);
  EXPECT_THAT(ask->programs,
              ElementsAre(SpawnProgram{{"/opt/prog", "-x", "k=v w\n", ""}, 2, "/tmp", {"A=1;2"}, {"n0", "n1"}},
                          SpawnProgram{{"b", "1"}, 3, "", {}, {}}));
  EXPECT_THAT(ask->pairs, ElementsAre("PORT", "tag#0$d=1;x", "empty", ""));
}

TEST(SpawnFrame, AcceptsMissingInfoAndAThreadIdAnywhere) {
  const auto ask = read_frame(
      "cmd=spawn;ncmds=2;preputcount=0;subcmd=a;maxprocs=1;argc=1;thrid=1;argv0=x;subcmd=b;maxprocs=0;argc=0;thrid=1;");
  ASSERT_TRUE(ask) << ask.error().what;
  EXPECT_THAT(ask->programs, ElementsAre(SpawnProgram{{"a", "x"}, 1, "", {}, {}}, SpawnProgram{{"b"}, 0, "", {}, {}}));
}

TEST(SpawnFrame, RejectsMissingAndMisplacedKeys) {
  ASSERT_TRUE(read_frame(kOne));
  for (const auto& [part, missing] : {std::pair<std::string_view, const char*>{"ncmds=1;", "ncmds in the wrong order"},
                                      {"preputcount=0;", "preputcount in the wrong order"},
                                      {"subcmd=a;", "subcmd in the wrong order"},
                                      {"maxprocs=1;", "maxprocs in the wrong order"},
                                      {"argc=0;", "argc in the wrong order"}}) {
    std::string text(kOne);
    EXPECT_THAT(why_frame(text.erase(text.find(part), part.size())), HasSubstr(missing));
  }
  const std::string one = "cmd=spawn;ncmds=1;preputcount=0;subcmd=a;maxprocs=1;";
  EXPECT_THAT(why_frame(one + "argc=1;"), HasSubstr("argv0 in the wrong order"));
  EXPECT_THAT(why_frame(one + "argc=1;argv1=x;"), HasSubstr("argv0 in the wrong order"));
  EXPECT_THAT(why_frame(one + "argc=2;argv1=x;argv0=y;"), HasSubstr("argv0 in the wrong order"));
  EXPECT_THAT(why_frame(one + "argc=1;argv0=x;argv1=y;"), HasSubstr("more pairs than its counts"));
  EXPECT_THAT(why_frame(one + "argc=0;infokeycount=1;infokey0=x;"), HasSubstr("infoval0 in the wrong order"));
  EXPECT_THAT(why_frame(one + "argc=0;infokeycount=1;infoval0=x;"), HasSubstr("infokey0 in the wrong order"));
  EXPECT_THAT(why_frame(one + "argc=0;infokey0=x;infoval0=y;"), HasSubstr("more pairs than its counts"));
  EXPECT_THAT(why_frame(one + "argc=0;subcmd=b;maxprocs=1;argc=0;"), HasSubstr("more pairs than its counts"));
  EXPECT_THAT(why_frame("cmd=spawn;ncmds=2;preputcount=0;subcmd=a;maxprocs=1;argc=0;"),
              HasSubstr("subcmd in the wrong order"));
  EXPECT_THAT(why_frame("cmd=spawn;ncmds=1;preputcount=1;ppkey0=k;subcmd=a;maxprocs=1;argc=0;"),
              HasSubstr("ppval0 in the wrong order"));
  EXPECT_THAT(why_frame("cmd=spawn;"), HasSubstr("ncmds in the wrong order"));
}

TEST(SpawnFrame, HasTheLimitsOfLines) {
  const auto with = [](std::string_view was, const std::string& is) {
    std::string text(kOne);
    return why_frame(text.replace(text.find(was), was.size(), is));
  };
  for (const char* programs : {"0", "257", "-1", "x", "", "99999999999"}) {
    EXPECT_THAT(with("ncmds=1", std::string("ncmds=") + programs), HasSubstr("invalid number of programs")) << programs;
  }
  for (const char* ranks : {"", "-1", "1x", "2147483648"}) {
    EXPECT_THAT(with("maxprocs=1", std::string("maxprocs=") + ranks), HasSubstr("invalid number of processes"))
        << ranks;
  }
  for (const char* count : {"", "-1", "x", "99999999999"}) {
    EXPECT_THAT(with("argc=0", std::string("argc=") + count), HasSubstr("invalid number of argc")) << count;
    EXPECT_THAT(with("preputcount=0", std::string("preputcount=") + count), HasSubstr("invalid number of preputcount"));
  }
  for (const char* huge : {"argc=2147483647", "argc=0;infokeycount=2147483647"}) {
    EXPECT_THAT(with("argc=0", huge), HasSubstr("0 in the wrong order"));
  }
  EXPECT_THAT(with("preputcount=0", "preputcount=2147483647"), HasSubstr("ppkey0 in the wrong order"));
  EXPECT_THAT(with("preputcount=0", "preputcount=1;ppkey0=;ppval0=x"), HasSubstr("a key that is empty or too long"));
  EXPECT_THAT(with("preputcount=0", "preputcount=1;ppkey0=" + std::string(65, 'k') + ";ppval0=x"),
              HasSubstr("too long"));
  EXPECT_THAT(with("preputcount=0", "preputcount=1;ppkey0=k;ppval0=" + std::string(1025, 'v')), HasSubstr("too long"));
}

TEST(SpawnFrame, ErrorOmitsValues) {
  const auto ask = read_frame(
      "cmd=spawn;ncmds=1;preputcount=0;subcmd=a;maxprocs=1;argc=0;infokeycount=1;infokey1=env;infoval1=KEY=secret;");
  ASSERT_FALSE(ask);
  EXPECT_EQ(ask.error().why, "\"infokey1\"");
}

}  // namespace
}  // namespace dlaunch::pmi
