// Both forms of a rank's error file, and other files.
#include "report/torch_error.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <string>

namespace dlaunch::report {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TorchError, ReadsTheTracebackOfBothForms) {
  EXPECT_THAT(torch_error_lines(R"({"message": {"message": "ValueError: 3", "extraInfo":
      {"py_callstack": "Traceback:\n  File x\nValueError: 3\n", "timestamp": "1700000000"}}})"),
              ElementsAre("Traceback:", "  File x", "ValueError: 3"));
  EXPECT_THAT(torch_error_lines(R"({"message": "ValueError: 3", "extraInfo": {"py_callstack": "a\nb"}})"),
              ElementsAre("a", "b"));
}

TEST(TorchError, ReadsTheMessageWithoutATraceback) {
  EXPECT_THAT(torch_error_lines(R"({"message": "out of\nmemory"})"), ElementsAre("out of", "memory"));
  EXPECT_THAT(torch_error_lines(R"({"message": {"message": "m", "extraInfo": {"py_callstack": 3}}})"),
              ElementsAre("m"));
}

TEST(TorchError, ReturnsTheLastLines) {
  std::string stack;
  for (int i = 1; i <= 100; ++i) stack += "line " + std::to_string(i) + "\\n";
  const auto words = torch_error_lines(R"({"message": ")" + stack + "\"}");
  EXPECT_EQ(words.size(), 20u);
  EXPECT_EQ(words.back(), "line 100");
}

TEST(TorchError, ReadsADeepFileInLittleMemory) {
  rusage before{};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &before), 0);
  EXPECT_THAT(torch_error_lines(std::string(1'000'000, '[')), IsEmpty());
  EXPECT_THAT(torch_error_lines(R"({"message": {"message": "words", "deep": )" + std::string(400'000, '[') +
                                std::string(400'000, ']') + "}}"),
              ElementsAre("words"));
  rusage after{};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &after), 0);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr long kMost = 60'000;  // KiB; the sanitizer keeps freed memory
#else
  constexpr long kMost = 20'000;
#endif
  EXPECT_LE(after.ru_maxrss - before.ru_maxrss, kMost);
}

TEST(TorchError, IsEmptyForOtherFiles) {
  for (const char* text : {"", "{", "[]", "3", "null", "{}", R"({"message": 3})", R"({"message": {}})",
                           R"({"message": " \n"})", R"({"message": {"message": null}})", "\xff\xfe"}) {
    EXPECT_THAT(torch_error_lines(text), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace dlaunch::report
