#include "base/json.h"

#include <gmock/gmock.h>

namespace dlaunch::json {
namespace {

using testing::HasSubstr;

struct Bad {
  const char* text;
  const char* where;
  const char* why;
};

TEST(Json, ReportsPositionAndReasonOfErrors) {
  const Bad cases[] = {
      {"", "f:1:1", "missing value: the text ends too early"},
      {"{} {}", "f:1:4", "unexpected text after"},
      {"{}\n\n x", "f:3:2", "unexpected text after"},
      {"{\"a\": 1,\n \"b\": 2,\n \"a\": 3}", "f:3:2", "duplicate key \"a\""},
      {"[1, 2", "f:1:6", "missing ] or }"},
      {"[1 2]", "f:1:4", "missing comma"},
      {"[1,\n]", "f:2:1", "unexpected comma"},
      {"{\"a\" 1}", "f:1:6", "colon"},
      {"{a: 1}", "f:1:2", "key"},
      {"{'a': 1}", "f:1:2", "key"},
      {"['a']", "f:1:2", "'…'"},
      {"[01]", "f:1:2", "number"},
      {"[1.]", "f:1:2", "number"},
      {"[-]", "f:1:2", "number"},
      {"[1e]", "f:1:2", "number"},
      {"[nul]", "f:1:2", "invalid value"},
      {"// x\n{}", "f:1:1", "comment"},
      {"[\"a", "f:1:2", "closing"},
      {"[\"a\nb\"]", "f:1:4", "control"},
      {"[\"\\x\"]", "f:1:3", "escape"},
      {"[\"closing quote\\x\"]", "f:1:16", "escape"},
      {"[\"\\u12g4\"]", "f:1:3", "\\u"},
      {"[\"\\ud800\"]", "f:1:3", "\\u"},
      {"[\"\\ud800\\u0041\"]", "f:1:3", "\\u"},
      {"[\"\xc3\"]", "f:1:3", "UTF-8"},
      {"[\"\xed\xa0\x80\"]", "f:1:3", "UTF-8"},
      {"[\"\xc0\x80\"]", "f:1:3", "UTF-8"},
      {"\xef\xbb\xbf{}", "f:1:1", "byte order mark"},
      {"[1111111111111111111111111111111111111111111]", "f:1:2", "too long"},
  };
  for (const Bad& bad : cases) {
    SCOPED_TRACE(bad.text);
    const auto json = parse_json(bad.text, "f");
    ASSERT_FALSE(json);
    EXPECT_EQ(json.error().where, bad.where);
    EXPECT_THAT(json.error().why, HasSubstr(bad.why));
  }
}

TEST(Json, RejectsDeepAndLargeTexts) {
  EXPECT_TRUE(parse_json(std::string(kDeepest, '[') + std::string(kDeepest, ']'), "f"));
  const auto deep = parse_json(std::string(1'000'000, '['), "f");
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().where, "f:1:34");
  EXPECT_THAT(deep.error().why, HasSubstr("more than 32 nested levels"));
  std::string vast = "[0";
  for (size_t i = 1; i <= kMostValues; ++i) vast += ",0";
  const auto many = parse_json(vast + "]", "f");
  ASSERT_FALSE(many);
  EXPECT_THAT(many.error().why, HasSubstr("more than 1000000 values"));
}

TEST(Json, RecordsPositionsOfValues) {
  const auto json = parse_json("{\n  \"a\": [1,\n \"x\"]}", "f");
  ASSERT_TRUE(json);
  const Json& list = *json->find("a");
  EXPECT_EQ(std::pair(list.line, list.column), std::pair(2, 8));
  EXPECT_EQ(std::pair(list.items[0].line, list.items[0].column), std::pair(2, 9));
  EXPECT_EQ(std::pair(list.items[1].line, list.items[1].column), std::pair(3, 2));
}

TEST(Json, WritesAsPythonDoes) {
  const auto json =
      parse_json(R"({"b":[],"a":{},"n":-1.5e3,"t":[true,false,null],"s":"q\"\\\u00e9\n\u0001\ud83d\ude00\/"})", "f");
  ASSERT_TRUE(json);
  EXPECT_EQ(to_text(*json), R"({
    "b": [],
    "a": {},
    "n": -1.5e3,
    "t": [
        true,
        false,
        null
    ],
    "s": "q\"\\é\n\u0001😀/"
}
)");
  const auto again = parse_json(to_text(*json), "f");
  ASSERT_TRUE(again);
  EXPECT_EQ(to_text(*again), to_text(*json));
}

TEST(Json, DescribesValuesSafelyForTerminals) {
  EXPECT_EQ(described(Json::string("a\x1b[2J")), R"("a\u001b[2J")");
  EXPECT_EQ(described(Json::string(std::string(59, 'x') + "éé")), "\"" + std::string(59, 'x') + "\"…");
  EXPECT_EQ(described(Json::number(3)), "3");
}

TEST(Json, AcceptsOnlyWholeNumbers) {
  for (const auto& [text, value] :
       std::vector<std::pair<const char*, std::optional<long>>>{{"0", 0},
                                                                {"12", 12},
                                                                {"-3", -3},
                                                                {"01", {}},
                                                                {"+1", {}},
                                                                {" 1", {}},
                                                                {"1.0", {}},
                                                                {"1e2", {}},
                                                                {"", {}},
                                                                {"-", {}},
                                                                {"99999999999999999999", {}}}) {
    EXPECT_EQ(whole_number(text), value) << text;
  }
}

}  // namespace
}  // namespace dlaunch::json
