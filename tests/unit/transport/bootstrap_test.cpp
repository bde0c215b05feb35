#include "transport/bootstrap.h"

#include <gmock/gmock.h>

namespace dlaunch::transport {
namespace {

using Next = Bootstrap::Next;
using testing::HasSubstr;
using testing::StartsWith;

Bootstrap bootstrap() { return Bootstrap("abc", {"x86_64", "aarch64"}); }

TEST(Bootstrap, SkipsNoiseAndKeepsFramesAfterMark) {
  Bootstrap b = bootstrap();
  EXPECT_EQ(b.feed("Welcome!\ndlaunch: not it\n"), Next::wait);
  EXPECT_EQ(b.feed("\ndlaunch:abc rea"), Next::wait);
  EXPECT_EQ(b.feed("dy x86_64\n\x01\x02"), Next::frames);
  EXPECT_EQ(b.rest(), "\x01\x02");
  EXPECT_THAT(b.noise(), StartsWith("Welcome!\n"));
}

TEST(Bootstrap, ResultDoesNotDependOnChunks) {
  const std::string all = "noise\ndlaunch:abc need x86_64\n\ndlaunch:abc ready x86_64\nREST";
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    Bootstrap b = bootstrap();
    bool uploaded = false;
    Next last = b.feed(all.substr(0, cut));
    for (std::string more = all.substr(cut); last != Next::frames && last != Next::failed; more.clear()) {
      uploaded = uploaded || last == Next::upload;
      last = b.feed(more);
    }
    EXPECT_TRUE(uploaded) << cut;
    EXPECT_EQ(last, Next::frames) << cut;
    EXPECT_EQ(b.rest(), std::string("REST").substr(0, b.rest().size())) << cut;
  }
}

TEST(Bootstrap, ReportsReasonOfFailure) {
  Bootstrap failed = bootstrap();
  EXPECT_EQ(failed.feed("dlaunch:abc fail cannot create /h/.cache: read-only\n"), Next::failed);
  EXPECT_EQ(failed.why(), "cannot create /h/.cache: read-only");
  Bootstrap other = bootstrap();
  EXPECT_EQ(other.feed("dlaunch:abc need riscv64\n"), Next::failed);
  EXPECT_EQ(other.why(),
            "not supported: machine type riscv64: this dlaunch has agents for x86_64,aarch64; install dlaunch-agent on "
            "the host and set --agent-path");
  Bootstrap nonsense = bootstrap();
  EXPECT_EQ(nonsense.feed("dlaunch:abc what\n"), Next::failed);
}

TEST(Bootstrap, SingleBytesCostNoMore) {
  Bootstrap b = bootstrap();
  size_t took = 0;
  while (b.feed("x") == Next::wait) ++took;
  EXPECT_GE(took, kMaxNoise);
  EXPECT_LT(took, kMaxNoise + 100);
  EXPECT_EQ(b.noise().size(), kKeptNoise);
  Bootstrap answer = bootstrap();
  EXPECT_EQ(answer.feed("dlaunch:abc fail "), Next::wait);
  for (took = 0; answer.feed("x") == Next::wait;) ++took;
  EXPECT_LE(took, kMaxAnswer);
  EXPECT_EQ(answer.why(), "protocol error: unexpected reply from the shell");
}

TEST(Bootstrap, RequestsAgentOnce) {
  Bootstrap b = bootstrap();
  EXPECT_EQ(b.feed("dlaunch:abc need x86_64\n"), Next::upload);
  EXPECT_EQ(b.feed("dlaunch:abc need x86_64\n"), Next::failed);
}

TEST(Bootstrap, MachineTypeOfTheHostChoosesTheAgent) {
  Bootstrap arm = bootstrap();
  EXPECT_EQ(arm.feed("dlaunch:abc need aarch64\n"), Next::upload);
  EXPECT_EQ(arm.machine(), "aarch64");
}

TEST(Bootstrap, RejectsEndlessNoise) {
  Bootstrap b = bootstrap();
  const std::string noise(1 << 20, 'x');
  Next next = Next::wait;
  for (int i = 0; i < 8 && next == Next::wait; ++i) next = b.feed(noise);
  EXPECT_EQ(next, Next::failed);
}

}  // namespace
}  // namespace dlaunch::transport
