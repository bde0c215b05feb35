#include "chaos/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace dlaunch::chaos {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Fault parsed(std::string_view text) {
  const auto fault = parse_fault(text);
  EXPECT_TRUE(fault) << text << ": " << (fault ? "" : to_text(fault.error()));
  return fault.value_or(Fault{});
}

TEST(Fault, ReadsEachKind) {
  EXPECT_EQ(parsed("kill:rank=3@10s"), (Fault{.what = FaultKind::kill, .target = {.rank = 3}, .when = {.time = 10s}}));
  EXPECT_EQ(parsed("kill:agent=fake2@line:/step 50/"),
            (Fault{.what = FaultKind::kill,
                   .target = {.kind = FaultTarget::Kind::agent, .host = "fake2"},
                   .when = {.line = "step 50"}}));
  EXPECT_EQ(parsed("stop:rank=1@5s+2s"),
            (Fault{.what = FaultKind::stop, .target = {.rank = 1}, .when = {.time = 5s}, .lasts = 2s}));
  EXPECT_EQ(parsed("cut:fake2@line:/epoch 1/#3+30s"),
            (Fault{.what = FaultKind::cut,
                   .target = {.kind = FaultTarget::Kind::link, .host = "fake2"},
                   .when = {.line = "epoch 1", .nth = 3},
                   .lasts = 30s}));
  EXPECT_EQ(parsed("slow:fake2=1MB/s@0s"), (Fault{.what = FaultKind::slow,
                                                  .target = {.kind = FaultTarget::Kind::link, .host = "fake2"},
                                                  .bytes = 1'000'000}));
  EXPECT_EQ(parsed("full:output@1MiB"),
            (Fault{.what = FaultKind::full, .target = {.kind = FaultTarget::Kind::output}, .bytes = 1 << 20}));
  EXPECT_EQ(parsed("signal:TERM:launcher@round=1:8s"), (Fault{.what = FaultKind::signal,
                                                              .target = {.kind = FaultTarget::Kind::launcher},
                                                              .when = {.time = 8s, .round = 1},
                                                              .signal = SIGTERM}));
  EXPECT_EQ(parsed("slow:net=eth1=1MB/s@0s"),
            (Fault{.what = FaultKind::slow,
                   .target = {.kind = FaultTarget::Kind::interface, .interface = "eth1"},
                   .bytes = 1'000'000}));
  EXPECT_TRUE(parsed("kill:rank=any@1.5s").target.any);
  EXPECT_EQ(parsed("kill:rank=any@1.5s").when.time, 1500ms);
  EXPECT_EQ(parsed("reset:any@200ms").target.kind, FaultTarget::Kind::link);
}

TEST(Fault, RoundTripsAsText) {
  for (const char* const text :
       {"kill:rank=3@10s", "kill:rank=any@1500ms", "kill:agent=fake2@line:/step 50/", "stop:rank=1@5s+2s",
        "cut:fake2@line:/a+b/#3+30s", "slow:fake2=1000000B/s@0s+5s", "full:output@1048576B",
        "signal:TERM:launcher@round=1:8s", "signal:USR1:rank=2@1s", "reset:any@0s", "cut:net=eth1@1s+2s",
        "slow:net=eth1.7=1000B/s@0s", "stop:agent=any@1s", "kill:rank=0@line:/a/b@c+d:e/"}) {
    EXPECT_EQ(to_text(parsed(text)), text);
    EXPECT_EQ(parsed(to_text(parsed(text))), parsed(text));
  }
}

TEST(Fault, AcceptsDurationsInAllFormats) {
  for (const char* const text : {"kill:rank=3@90", "kill:rank=3@90s", "kill:rank=3@1m30s", "kill:rank=3@00:01:30"}) {
    const auto fault = parse_fault(text);
    ASSERT_TRUE(fault) << text;
    EXPECT_EQ(fault->when.time, Milliseconds(90'000)) << text;
  }
}

TEST(Fault, RejectsOtherText) {
  for (const char* const text : {"",
                                 "kill",
                                 "reset:net=eth1@1s",
                                 "cut:net=@1s",
                                 "cut:net=../eth1@1s",
                                 "cut:net=sixteenletters00@1s",
                                 "kill:",
                                 "kill:rank=3",
                                 "kill:rank=3@",
                                 "kill:rank=x@1s",
                                 "kill:rank=-1@1s",
                                 "kill:fake2@1s",
                                 "kill:agent=@1s",
                                 "kill:rank=3@10x",
                                 "kill:rank=3@1s+2s",
                                 "crash:rank=3@1s",
                                 "cut:@1s",
                                 "slow:fake2@1s",
                                 "slow:fake2=1MB@1s",
                                 "slow:fake2=0B/s@1s",
                                 "full:disk@1MiB",
                                 "full:output@1s",
                                 "signal:NONE:launcher@1s",
                                 "signal:launcher@1s",
                                 "kill:rank=3@line:step",
                                 "kill:rank=3@line:/(/",
                                 "kill:rank=3@line:/(a)\\1/",
                                 "kill:rank=3@line://",
                                 "kill:rank=3@line:/a/#0",
                                 "kill:rank=3@line:/a/x",
                                 "stop:rank=1@5s+",
                                 "stop:rank=1@5s+2 s",
                                 "kill:rank=3@-1s",
                                 "kill:rank=3@round=x:1s"}) {
    EXPECT_FALSE(parse_fault(text)) << text;
  }
  EXPECT_THAT(to_text(parse_fault("kill:rank=3@1s+2s").error()), HasSubstr("cannot be undone"));
}

}  // namespace
}  // namespace dlaunch::chaos
