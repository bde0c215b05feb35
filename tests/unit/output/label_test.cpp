#include "output/label.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <ctime>

namespace dlaunch::output {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kFriday = 1'795'177'351'123'000'000;  // 2026-11-20 12:22:31.123 UTC

class Label : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC", 1);
    tzset();
  }
  static std::string label(std::string_view text, StreamFacts facts, bool color = false) {
    return std::string(Prefix::label(text, facts, color).render(kFriday));
  }
  StreamFacts facts_{{"node1", 2, 5}, 10, 16, Stream::err};
};

TEST_F(Label, ReplacesEveryField) {
  EXPECT_EQ(label("{rank}/{local_rank}/{host}/{device}/{stream}: ", facts_), "10/2/node1/5/stderr: ");
  EXPECT_EQ(label("{time} ", facts_), "2026-11-20T12:22:31.123 ");
  facts_.host.device.reset();
  EXPECT_EQ(label("{device}", facts_), "-");
}

TEST_F(Label, AlignsOnlyTheDefault) {
  facts_.rank = 3;
  EXPECT_EQ(label(kDefaultLabel, facts_), "[ 3] ");
  EXPECT_EQ(label("{rank}:", facts_), "3:");
  facts_.ranks = 10;
  EXPECT_EQ(label(kDefaultLabel, facts_), "[3] ");
}

TEST_F(Label, UnescapesDoubledBraces) {
  EXPECT_EQ(label("{{rank}} {rank}|", facts_), "{rank} 10|");
  EXPECT_EQ(label("}{{", facts_), "}{");
}

TEST_F(Label, ColorsTheLabelByStream) {
  EXPECT_EQ(label("{rank} ", facts_, true), "\x1b[31m10 \x1b[0m");
  facts_.stream = Stream::out;
  EXPECT_EQ(label("{rank} ", facts_, true), "\x1b[36m10 \x1b[0m");
}

TEST_F(Label, UnknownFieldSuggestsTheMostSimilarField) {
  EXPECT_TRUE(check_label_template("{rank} {host}"));
  const auto bad = check_label_template("{rnk}");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().exit_code, kExitRefused);
  EXPECT_THAT(to_text(bad.error()),
              HasSubstr("--label: unknown field {rnk}\ndlaunch:   use {rank}, or another field of:"));
  EXPECT_FALSE(check_label_template("{rank"));
  EXPECT_FALSE(check_label_template("{}"));
}

TEST_F(Label, HasTheFormsOfOpenMpi) {
  OutputSettings settings;
  EXPECT_TRUE(Prefix::open_mpi(settings, facts_).empty());
  settings.tag = true;
  EXPECT_EQ(Prefix::open_mpi(settings, facts_).render(kFriday), "[1,10]<stderr>:");
  settings.timestamp = true;
  EXPECT_EQ(Prefix::open_mpi(settings, facts_).render(kFriday), "Fri Nov 20 12:22:31 2026[1,10]<stderr>:");
  settings.tag = false;
  EXPECT_EQ(Prefix::open_mpi(settings, facts_).render(kFriday), "Fri Nov 20 12:22:31 2026<stderr>:");
}

TEST_F(Label, TimeFollowsTheClock) {
  Prefix prefix = Prefix::label("{time}", facts_, false);
  EXPECT_EQ(prefix.render(kFriday), "2026-11-20T12:22:31.123");
  EXPECT_EQ(prefix.render(kFriday + 2'000'000), "2026-11-20T12:22:31.125");
}

}  // namespace
}  // namespace dlaunch::output
