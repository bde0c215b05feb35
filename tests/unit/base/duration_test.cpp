#include "base/time.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using std::chrono::milliseconds;

TEST(Duration, ReadsSecondsUnitsAndClockTimes) {
  const std::pair<const char*, long> cases[] = {{"90", 90'000},
                                                {"0", 0},
                                                {"0.5", 500},
                                                {".5", 500},
                                                {"5.", 5000},
                                                {"010", 10'000},
                                                {"0.0001", 1},
                                                {"0.0000000001", 1},
                                                {"0.0", 0},
                                                {"0.03", 30},
                                                {"90s", 90'000},
                                                {"200ms", 200},
                                                {"5m", 300'000},
                                                {"1h30m", 5'400'000},
                                                {"1.5h", 5'400'000},
                                                {"1h0.5m", 3'630'000},
                                                {"2d", 172'800'000},
                                                {"1d1h1m1s1ms", 90'061'001},
                                                {"00:05:00", 300'000},
                                                {"1:00:01", 3'601'000},
                                                {"100:00:00", 360'000'000}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(parse_duration(text), milliseconds(expected)) << text;
}

TEST(Duration, RejectsOtherText) {
  for (const char* text : {"",         " ",   "-1",        "-0",       "+1",    "1m30",      "5 m",       " 5",
                           "5 ",       "m",   "1.2.3",     ".",        "1h2h",  "1s1m",      "1.5h2m",    "5M",
                           "5min",     "1e3", "inf",       "nan",      "0x10",  "5:00",      "1:2:3",     "00:60:00",
                           "00:00:60", "::",  "00:00:1.5", "-1:00:00", "1::00", "00:05:00s", "1:00:00:00"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Duration, RejectsMoreThanTheMaximum) {
  EXPECT_EQ(parse_duration("1000000000"), milliseconds(kMaxDuration));
  for (const char* text : {"1000000001", "99999999999999999999", "99999999999999999999d", "11575d", "277778h",
                           "277778:00:00", "99999999999999999999:00:00"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

}  // namespace
}  // namespace dlaunch
