#include "dialback/answers.h"

#include <gtest/gtest.h>

namespace dlaunch::dialback {
namespace {

using State = Answers::State;

TEST(AnswersOfHosts, BelongToASingleHost) {
  Answers answers("abc", {"x86_64"}, {"n1", "n2", "n3"});
  EXPECT_TRUE(answers.any(State::silent));
  answers.feed("noise\n\ndlaunch:abc n1 ready x86_64\n\ndlaunch:abc n2 need x8");
  EXPECT_EQ(answers.state("n1"), State::ready);
  EXPECT_EQ(answers.state("n2"), State::silent);
  answers.feed("6_64\ndlaunch:abc n3 fail no home\n");
  EXPECT_EQ(answers.state("n2"), State::asks);
  EXPECT_EQ(answers.state("n3"), State::failed);
  EXPECT_EQ(answers.why("n3"), "no home");
  EXPECT_FALSE(answers.ran("n3"));
  EXPECT_FALSE(answers.any(State::silent));
  answers.feed("dlaunch:abc n2 ready x86_64\n");
  EXPECT_EQ(answers.state("n2"), State::ready);
}

TEST(AnswersOfHosts, AcceptFailureOfRunningAgent) {
  Answers answers("abc", {"x86_64"}, {"n1"});
  answers.feed("dlaunch:abc n1 ready x86_64\n\ndlaunch:abc n1 fail cannot connect\n");
  EXPECT_EQ(answers.state("n1"), State::failed);
  EXPECT_EQ(answers.why("n1"), "cannot connect");
  EXPECT_TRUE(answers.ran("n1"));
}

TEST(AnswersOfHosts, SkipOtherLines) {
  Answers answers("abc", {"x86_64"}, {"n1"});
  answers.feed("dlaunch:abd n1 ready x86_64\ndlaunch:abc n2 ready x86_64\ndlaunch:abc n1\ndlaunch:abc \n");
  EXPECT_EQ(answers.state("n1"), State::silent);
}

TEST(AnswersOfHosts, DropEndlessLine) {
  Answers answers("abc", {"x86_64"}, {"n1"});
  answers.feed(std::string(transport::kMaxAnswer + 1, 'x'));
  answers.feed("\ndlaunch:abc n1 ready x86_64\n");
  EXPECT_EQ(answers.state("n1"), State::ready);
}

TEST(AnswersOfHosts, IgnoreEndOfLongLine) {
  const std::string line = std::string(transport::kMaxAnswer + 1, 'x') + "dlaunch:abc n1 ready x86_64\n";
  for (const size_t piece : {line.size(), transport::kMaxAnswer + 1, size_t{1}}) {
    Answers answers("abc", {"x86_64"}, {"n1"});
    for (size_t at = 0; at < line.size(); at += piece) answers.feed(std::string_view(line).substr(at, piece));
    EXPECT_EQ(answers.state("n1"), State::silent) << piece;
  }
}

TEST(AnswersOfHosts, RefuseOtherMachineType) {
  Answers answers("abc", {"x86_64"}, {"n1"});
  answers.feed("dlaunch:abc n1 need aarch64\n");
  EXPECT_EQ(answers.state("n1"), State::failed);
}

}  // namespace
}  // namespace dlaunch::dialback
