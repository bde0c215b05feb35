#include "pmi/line.h"

#include <gmock/gmock.h>

namespace dlaunch::pmi {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(PmiLine, KeepsTheOrderOfPairs) {
  const auto line = parse_line("cmd=put kvsname=kvs_1 key=P0-card value=tag#0$a=b[/]");
  ASSERT_TRUE(line);
  EXPECT_THAT(line->pairs(), ElementsAre(Pair("cmd", "put"), Pair("kvsname", "kvs_1"), Pair("key", "P0-card"),
                                         Pair("value", "tag#0$a=b[/]")));
  EXPECT_EQ((*line)["key"], "P0-card");
  EXPECT_EQ((*line)["none"], "");
  EXPECT_TRUE(line->has("value"));
  EXPECT_FALSE(line->has("none"));
}

TEST(PmiLine, AcceptsEmptyValuesAndRepeatedBlanks) {
  const auto line = parse_line("cmd=put  key= value=");
  ASSERT_TRUE(line);
  EXPECT_THAT(line->pairs(), ElementsAre(Pair("cmd", "put"), Pair("key", ""), Pair("value", "")));
}

TEST(PmiLine, MessageExtendsToTheEnd) {
  const auto line = parse_line("cmd=abort exitcode=7 message=no way = out");
  ASSERT_TRUE(line);
  EXPECT_EQ((*line)["message"], "no way = out");
  EXPECT_EQ((*line)["exitcode"], "7");
}

TEST(PmiLine, RejectsMalformedLinesWithAReason) {
  for (const auto& [text, why] : {std::pair{"", "empty"},
                                  {"   ", "empty"},
                                  {"cmd=get key", "not KEY=VALUE"},
                                  {"=get", "not KEY=VALUE"},
                                  {"key=cmd", "without a command"}}) {
    const auto line = parse_line(text);
    ASSERT_FALSE(line) << text;
    EXPECT_THAT(line.error().what, HasSubstr(why)) << text;
  }
  EXPECT_EQ(parse_line("\x1b[31m\xff").error().why, "\"?[31m?\"");
}

TEST(PmiLine, WritesPairs) {
  EXPECT_EQ(write_line({{"cmd", "get_result"}, {"rc", "0"}, {"value", "a=b"}}), "cmd=get_result rc=0 value=a=b\n");
}

TEST(LineReader, AcceptsACutAtEveryByte) {
  const std::string text = "cmd=init pmi_version=1\n\nmcmd=spawn\n";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    LineReader reader;
    std::vector<std::string> lines;
    for (const std::string& part : {text.substr(0, cut), text.substr(cut)}) {
      reader.feed(part);
      for (auto line = reader.next(); *line; line = reader.next()) lines.push_back(**line);
    }
    EXPECT_THAT(lines, ElementsAre("cmd=init pmi_version=1", "", "mcmd=spawn")) << cut;
    EXPECT_TRUE(reader.empty());
  }
}

TEST(LineReader, RejectsATooLongLineBeforeItsEnd) {
  LineReader reader;
  reader.feed(std::string(kMaxLine, 'a'));
  EXPECT_TRUE(reader.next());
  reader.feed("a");
  EXPECT_FALSE(reader.next());
}

}  // namespace
}  // namespace dlaunch::pmi
