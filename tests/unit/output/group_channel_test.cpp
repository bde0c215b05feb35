#include "output/group_channel.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <regex>

#include "output_fixture.h"

namespace dlaunch::output {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

OutputSettings grouped(Groups form = Groups::github) {
  OutputSettings settings;
  settings.groups = form;
  return settings;
}

/// With "TOKEN" in place of the random text.
std::string without_token(const std::string& text) {
  return std::regex_replace(text, std::regex("dlaunch-[0-9a-f]{32}"), "TOKEN");
}

std::string group(const std::string& title, const std::string& lines) {
  return "::group::" + title + "\n::stop-commands::TOKEN\n" + lines + "::TOKEN::\n::endgroup::\n";
}

TEST(GroupChannel, PrintsTheLinesOfARankAtItsEnd) {
  OutputFixture fixture(grouped(), 2);
  fixture.feed(0, "a\n");
  fixture.feed(1, "b\n");
  fixture.feed(0, "oops\n", Stream::err);
  fixture.feed(0, "end");
  EXPECT_EQ(fixture.shown(), "");
  fixture.end_all();
  EXPECT_EQ(without_token(fixture.shown()), group("rank 0 (node1)", "a\noops\nend\n") + group("rank 1 (node1)", "b\n"));
  EXPECT_EQ(fixture.shown_on_stderr(), "");
}

TEST(GroupChannel, HasTheFormOfGitlab) {
  OutputFixture fixture(grouped(Groups::gitlab), 2);
  fixture.feed(1, "b\n");
  fixture.end_all();
  EXPECT_EQ(fixture.shown(),
            "\x1b[0Ksection_start:1700000000:dlaunch_1[collapsed=true]\r\x1b[0Krank 1 (node1)\nb\n"
            "\x1b[0Ksection_end:1700000000:dlaunch_1\r\x1b[0K\n");
}

TEST(GroupChannel, PrintsAGroupAfterATime) {
  OutputFixture fixture(grouped(), 2);
  fixture.feed(0, "a\npart");
  fixture.wait_long(59s);
  EXPECT_EQ(fixture.shown(), "");
  fixture.wait_long(2s);
  EXPECT_EQ(without_token(fixture.shown()), group("rank 0 (node1)", "a\n"));
  fixture.feed(0, "ial\n");
  fixture.end_all();
  EXPECT_EQ(without_token(fixture.shown()), group("rank 0 (node1), continued", "partial\n"));
}

TEST(GroupChannel, PrintsALargeGroupAtOnce) {
  OutputFixture fixture(grouped(), 2);
  const std::string line = std::string(9'999, 'x') + '\n';
  for (int i = 0; i < 1000; ++i) fixture.feed(0, line);
  const std::string first = fixture.shown();
  EXPECT_GT(first.size(), 9'500'000U);
  fixture.feed(1, std::string(10'000'000, 'y'));
  const std::string second = fixture.shown();
  EXPECT_THAT(without_token(second.substr(0, 200)), testing::StartsWith("::group::rank 1 (node1)\n"));
  fixture.end_all();
  EXPECT_EQ(std::ranges::count(first + second + fixture.shown(), 'x'), 9'999'000);
}

TEST(GroupChannel, PrintsTheLargestGroupAboveTheLimitOfAllGroups) {
  constexpr int kRanks = 140;
  const std::string large = std::string(kMostGroupBytes - 2, 'x') + '\n';
  OutputFixture fixture(grouped(), kRanks);
  fixture.feed(kRanks - 1, "small\n");
  for (int rank = 0; rank + 1 < kRanks; ++rank) fixture.feed(rank, large);
  fixture.feed(kRanks - 1, "more\n");
  EXPECT_EQ(fixture.shown().find("small"), std::string::npos);
  fixture.end_all();
  EXPECT_THAT(without_token(fixture.shown()), HasSubstr(group("rank 139 (node1)", "small\nmore\n")));
}

TEST(GroupChannel, KeepsTheLabelsAndEveryByte) {
  OutputSettings settings = grouped();
  settings.label = "{rank} ";
  OutputFixture fixture(settings, 2);
  fixture.feed(1, std::string("\0\xff 5%\r6%\n::endgroup::\n", 22));
  fixture.end_all();
  EXPECT_EQ(without_token(fixture.shown()),
            group("rank 1 (node1)", std::string("1 \0\xff 5%\r6%\n1 ::endgroup::\n", 26)));
}

TEST(GroupChannel, LosesNothingIfTheStreamsDoNotEnd) {
  OutputFixture fixture(grouped(), 2);
  fixture.feed(0, "a\npart");
  fixture.output.reset();
  EXPECT_EQ(without_token(fixture.out.read()), group("rank 0 (node1)", "a\npart\n"));
}

TEST(GroupChannel, IsNotUsedForOneRank) {
  OutputFixture fixture(grouped(), 1);
  fixture.feed(0, "a");
  fixture.feed(0, "b", Stream::err);
  EXPECT_EQ(fixture.shown() + fixture.shown_on_stderr(), "ab");
}

}  // namespace
}  // namespace dlaunch::output
