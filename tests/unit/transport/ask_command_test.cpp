#include "transport/command.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace dlaunch::transport {
namespace {

using namespace std::chrono_literals;

CommandAnswer ask(const std::string& script, std::chrono::milliseconds limit) {
  return ask_command("/bin/sh -c " + shell_quote(script), limit);
}

TEST(AskCommand, TakesBothStreams) {
  const auto answer = ask("echo out; echo why >&2; exit 3", 60s);
  EXPECT_EQ(answer.text, "out\n");
  EXPECT_EQ(answer.trouble, "why");
}

TEST(AskCommand, ReadsMoreOnStderrThanAPipeHoldsBeforeTheAnswer) {
  const auto answer = ask("yes noise | head -n 30000 >&2; echo out; echo why >&2", 60s);
  EXPECT_EQ(answer.text, "out\n");
  EXPECT_EQ(answer.trouble, "noise; why");
}

TEST(AskCommand, EndsInTimeDespiteEndlessStderr) {
  const auto answer = ask("exec yes >&2", 200ms);
  EXPECT_EQ(answer.text, "");
  EXPECT_EQ(answer.trouble, "timed out after 0 s");
}

}  // namespace
}  // namespace dlaunch::transport
