#include "launcher/host_link.h"

#include <gmock/gmock.h>

#include <limits>

#include "sys/clock.h"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kAhead = 1'700'000'000'000'000'000;  // of the host's clock

std::int64_t host_time(Time time) { return kAhead + std::chrono::nanoseconds(time.time_since_epoch()).count(); }

/// A question at `at`, answered there after `there`, and received here after `back` more.
void read(ClockReadings& readings, Duration at, Duration there, Duration back, std::int64_t wrong_ns = 0) {
  readings.asked(Time(at));
  readings.answered(host_time(Time(at + there)) + wrong_ns, Time(at + there + back));
}

void expect_right(const job::HostClock& clock, std::int64_t ahead = kAhead) {
  EXPECT_GE(clock.offset_ns, ahead - clock.error_ns);
  EXPECT_LE(clock.offset_ns, ahead + clock.error_ns);
}

TEST(ClockReadings, HaveHalfTheRoundTripAsError) {
  for (const auto& [there, back] : {std::pair{3ms, 3ms}, {6ms, 0ms}, {0ms, 6ms}}) {
    ClockReadings readings;
    read(readings, 10s, there, back);
    const job::HostClock clock = readings.at(Time(10s + 6ms));
    EXPECT_EQ(clock.error_ns, 3'000'000);
    expect_right(clock);
  }
}

TEST(ClockReadings, PreferTheShortestRoundTrip) {
  ClockReadings readings;
  read(readings, 10s, 900ms, 1ms);
  read(readings, 11s, 100us, 200us);
  read(readings, 12s, 1ms, 80ms);
  const job::HostClock clock = readings.at(Time(13s));
  EXPECT_LT(clock.error_ns, 400'000);
  expect_right(clock);
}

TEST(ClockReadings, BecomeLessAccurateWithAge) {
  ClockReadings readings;
  read(readings, 10s, 50us, 50us);
  EXPECT_EQ(readings.at(Time(10s + 100us)).error_ns, 50'000);
  EXPECT_EQ(readings.at(Time(20s + 100us)).error_ns, 50'000 + 1'000'000);
  read(readings, 20s, 200us, 200us);
  EXPECT_EQ(readings.at(Time(20s + 400us)).error_ns, 200'000);
}

TEST(ClockReadings, FollowAClockThatIsSet) {
  for (const std::int64_t step : {-500'000'000, 500'000'000}) {
    ClockReadings readings;
    read(readings, 10s, 50us, 50us);
    read(readings, 15s, 2ms, 2ms, step);
    expect_right(readings.at(Time(15s + 4ms)), kAhead + step);
    EXPECT_LT(readings.at(Time(15s + 4ms)).error_ns, 3'000'000);
  }
}

TEST(ClockReadings, FollowADriftingClockForDays) {
  ClockReadings readings;
  for (int i = 0; i < 100'000; ++i) {
    const Duration now = i * 5s;
    const std::int64_t drift = std::int64_t{i} * 200'000;  // 40 microseconds each second
    read(readings, now, 100us, 300us, drift);
    expect_right(readings.at(Time(now + 400us)), kAhead + drift);
  }
  EXPECT_LT(readings.at(Time(500'000s)).error_ns, 2'000'000);
}

TEST(ClockReadings, HaveAnUnlimitedErrorBeforeTheFirstAnswer) {
  ClockReadings readings;
  EXPECT_EQ(readings.at(Time(1s)).error_ns, std::numeric_limits<std::int64_t>::max());
  readings.answered(5, Time(1s));  // no question
  EXPECT_EQ(readings.at(Time(1s)).error_ns, std::numeric_limits<std::int64_t>::max());
  readings.asked(Time(1s));
  EXPECT_TRUE(readings.awaits_answer());
  readings.answered(5, Time(2s));
  EXPECT_FALSE(readings.awaits_answer());
}

TEST(ClockReadings, AcceptAnyTimeOfAnAgent) {
  ClockReadings readings;
  for (const std::int64_t time : {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    readings.asked(Time(1s));
    readings.answered(time, Time(2s));
    EXPECT_EQ(readings.at(Time(2s)).error_ns, 500'000'000);
  }
}

TEST(OwnClock, HasASmallError) {
  const job::HostClock clock = own_clock();
  const Time now = Clock::now();
  const std::int64_t here = sys::wall_ns() - std::chrono::nanoseconds(now.time_since_epoch()).count();
  EXPECT_NEAR(static_cast<double>(clock.offset_ns), static_cast<double>(here), 1e9);
  EXPECT_LT(clock.error_ns, 1'000'000'000);
}

}  // namespace
}  // namespace dlaunch::launcher
