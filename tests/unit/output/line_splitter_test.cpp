#include "output/line_splitter.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace dlaunch::output {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::string_literals;

std::vector<std::string> records(std::string_view bytes, std::string* rest = nullptr) {
  Records walk(bytes);
  std::vector<std::string> all;
  for (std::string_view r = walk.next(); !r.empty(); r = walk.next()) all.emplace_back(r);
  if (rest) *rest = walk.rest();
  return all;
}

TEST(Records, EndAtNewlineCarriageReturnAndBothAsOne) {
  EXPECT_THAT(records("a\nb\rc\r\nd\n"), ElementsAre("a\n", "b\r", "c\r\n", "d\n"));
  EXPECT_THAT(records("\n\n"), ElementsAre("\n", "\n"));
  EXPECT_THAT(records("\r\rx\n"), ElementsAre("\r", "\r", "x\n"));
  EXPECT_THAT(records("\n\r\n"), ElementsAre("\n", "\r\n"));
}

TEST(Records, LeavesAPartialRecord) {
  std::string rest;
  EXPECT_THAT(records("a\nbc", &rest), ElementsAre("a\n"));
  EXPECT_EQ(rest, "bc");
  EXPECT_THAT(records("abc", &rest), IsEmpty());
  EXPECT_EQ(rest, "abc");
  EXPECT_THAT(records("", &rest), IsEmpty());
  EXPECT_EQ(rest, "");
}

TEST(Records, LeavesARecordWithATrailingCarriageReturn) {
  std::string rest;
  EXPECT_THAT(records("a\nb\r", &rest), ElementsAre("a\n"));
  EXPECT_EQ(rest, "b\r");
  EXPECT_THAT(records("\r", &rest), IsEmpty());
  EXPECT_EQ(rest, "\r");
}

TEST(Records, NulIsAnOrdinaryByte) { EXPECT_THAT(records("a\0b\n\0\n"s), ElementsAre("a\0b\n"s, "\0\n"s)); }

TEST(Records, LastRecordEndMatchesTheSplitter) {
  const std::string alphabet = "ab\r\n";
  for (int code = 0; code < 4 * 4 * 4 * 4 * 4 * 4; ++code) {
    std::string bytes;
    for (int rest = code, i = 0; i < 6; ++i, rest /= 4) bytes += alphabet[static_cast<size_t>(rest % 4)];
    for (size_t length = 0; length <= bytes.size(); ++length) {
      std::string rest;
      records(bytes.substr(0, length), &rest);
      EXPECT_EQ(last_record_end(bytes.substr(0, length)), length - rest.size()) << ::testing::PrintToString(bytes);
    }
  }
}

}  // namespace
}  // namespace dlaunch::output
