#include "output/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/time.h"

namespace dlaunch::output {
namespace {

using namespace std::string_literals;

TEST(JsonText, EveryByteBelow128RoundTripsAtEveryPosition) {
  for (int c = 0; c < 128; ++c) {
    for (size_t place = 0; place < 40; ++place) {
      std::string text(40, 'x');
      text[place] = static_cast<char>(c);
      std::string json;
      append_json_string(json, text);
      EXPECT_EQ(nlohmann::json::parse(json).get<std::string>(), text);
    }
  }
}

TEST(JsonText, RecognizesUtf8) {
  for (const auto& good : {"plain"s, "zwölf Boxkämpfer jagen Viktor"s, "日本語"s, "😀"s, "\0"s, ""s, "\u07ff\uffff"s}) {
    EXPECT_TRUE(is_utf8(good)) << good;
    std::string json;
    append_json_string(json, good);
    EXPECT_EQ(nlohmann::json::parse(json).get<std::string>(), good);
  }
  for (const auto& bad : {"\xff"s, "a\x80"s, "\xc3"s, "\xc0\xaf"s, "\xe0\x80\xaf"s, "\xed\xa0\x80"s,
                          "\xf4\x90\x80\x80"s, "\xf0\x80\x80\x80"s, "sixteen bytes ok\xfe"s, "\xf8\x88\x80\x80\x80"s}) {
    EXPECT_FALSE(is_utf8(bad)) << ::testing::PrintToString(bad);
  }
}

TEST(JsonText, CutKeepsCharactersWhole) {
  EXPECT_EQ(utf8_cut("abc", 5), 3U);
  EXPECT_EQ(utf8_cut("abcdef", 5), 5U);
  EXPECT_EQ(utf8_cut("abö", 3), 2U);
  EXPECT_EQ(utf8_cut("😀😀", 6), 4U);
  EXPECT_EQ(utf8_cut("😀", 2), 0U);
  EXPECT_EQ(utf8_cut("\x80\x80\x80\x80\x80\x80", 5), 5U);
}

TEST(JsonText, FormatsTimesAsRfc3339) { EXPECT_EQ(rfc3339(1'700'000'000'123'456'789), "2023-11-14T22:13:20.123456Z"); }

}  // namespace
}  // namespace dlaunch::output
