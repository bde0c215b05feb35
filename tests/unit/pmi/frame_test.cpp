#include "pmi/line.h"

#include <gmock/gmock.h>

namespace dlaunch::pmi {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string frame(std::string_view text, std::string_view length = {}) {
  std::string size(length.empty() ? std::to_string(text.size()) : length);
  return (size + "      ").substr(0, 6).append(text);
}

TEST(Frame, KeepsTheOrderOfPairs) {
  const auto line = parse_frame("cmd=kvs-put;key=a b;value=x=y\nz;empty=;");
  ASSERT_TRUE(line);
  EXPECT_THAT(line->pairs(),
              ElementsAre(Pair("cmd", "kvs-put"), Pair("key", "a b"), Pair("value", "x=y\nz"), Pair("empty", "")));
}

TEST(Frame, EscapesASemicolonByDoubling) {
  const auto line = parse_frame("cmd=put;key=;;;value=a;;b;;;;c;");
  ASSERT_TRUE(line);
  EXPECT_EQ((*line)["key"], ";");
  EXPECT_EQ((*line)["value"], "a;b;;c");
  EXPECT_EQ(write_frame({{"cmd", "get"}, {"value", "a;b;;c"}, {"", "left out"}}), "24    cmd=get;value=a;;b;;;;c;");
}

TEST(Frame, MessageExtendsToTheEnd) {
  const auto line = parse_frame("cmd=abort;exitcode=7;message=one; two");
  ASSERT_TRUE(line);
  EXPECT_THAT(line->pairs(), ElementsAre(Pair("cmd", "abort"), Pair("exitcode", "7"), Pair("message", "one; two")));
}

TEST(Frame, RejectsMalformedFrames) {
  for (const auto& [text, why] : {std::pair{"key=a;cmd=b;", "without a command at its start"},
                                  {"cmd=a", "does not end"},
                                  {"cmd=a;key=b;;", "does not end"},
                                  {"cmd=a;key;b=c;", "not KEY=VALUE"},
                                  {"cmd=a;=b;", "not KEY=VALUE"},
                                  {"", "without a command at its start"},
                                  {";", "not KEY=VALUE"},
                                  {"mcmd=spawn;", "without a command at its start"}}) {
    const auto line = parse_frame(text);
    ASSERT_FALSE(line) << text;
    EXPECT_THAT(line.error().what, HasSubstr(why)) << text;
  }
}

TEST(FrameReader, AcceptsAnyPieces) {
  const std::string stream = frame("cmd=a;") + frame("cmd=b;key=c;") + "    6 cmd=d;" + "     6cmd=e;";
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameReader reader;
    std::string read;
    for (size_t at = 0; at < stream.size(); at += piece) {
      reader.feed(std::string_view(stream).substr(at, piece));
      for (auto next = reader.next(); next && *next; next = reader.next()) read += **next + "|";
    }
    EXPECT_EQ(read, "cmd=a;|cmd=b;key=c;|cmd=d;|cmd=e;|") << piece;
    EXPECT_TRUE(reader.empty());
  }
}

TEST(FrameReader, WaitsForACompleteFrame) {
  FrameReader reader;
  for (const char* part : {"1", "2    ", "cmd=a;key=b"}) {
    reader.feed(part);
    const auto next = reader.next();
    ASSERT_TRUE(next);
    EXPECT_FALSE(*next) << part;
  }
  reader.feed(";7");
  EXPECT_EQ(reader.next()->value(), "cmd=a;key=b;");
  EXPECT_FALSE(*reader.next());
}

TEST(FrameReader, RejectsInvalidLengths) {
  FrameReader huge;
  huge.feed(frame(std::string(kMaxFrame, 'x')));
  EXPECT_EQ(huge.next()->value().size(), kMaxFrame);
  for (const char* length : {"0", "-1", "+6", "6x", "x", "      ", "6 6", "0x6", "cmd=in"}) {
    FrameReader reader;
    reader.feed(frame("cmd=a;", length));
    EXPECT_FALSE(reader.next()) << length;
  }
}

}  // namespace
}  // namespace dlaunch::pmi
