#include "job/failure_line.h"

#include <gmock/gmock.h>

namespace dlaunch::job {
namespace {

TEST(FailureLine, LinesThatDifferOnlyInNumbersAreEqual) {
  for (const auto& [one, other] : std::vector<std::pair<std::string, std::string>>{
           {"node12: out of memory", "node7: out of memory"},
           {"fault at 0x7f3a5c", "fault at 0x10"},
           {"fault at 00007f3a5c00", "fault at deadbeef"},
           {"[rank3]: RuntimeError: x", "[rank11]: RuntimeError: x"},
           {"Rank 3/8 failed", "Rank 11/16 failed"},
           {"10:03:27,125 error", "9:59:01 error"},
           {"2024-05-06 10:03:27.5 error", "2025-11-16 1:00:00 error"},
           {"2024-05-06T10:03:27Z error", "2025-11-16T01:00:00.123Z error"},
           {"loss 1e-05 is too large", "loss 3.5 is too large"},
           {"index -1 is out of range", "index 17 is out of range"},
           {"x=-1", "x=+2.5"},
           {"<Socket object at 0x7F3A> of pid 4242", "<Socket object at 0x1> of pid 7"},
           {"job 5e1f01c2-00ab-face-beef-0123456789ab", "job 00000000-dead-0000-1111-222222222222"},
           {"cannot connect to 10.0.0.7:29500", "cannot connect to 192.168.1.12:4"},
           {"\x1b[31merror\x1b[0m 5", "error 6"},
           {"step   9 \t failed \r", "step 10 failed"}}) {
    EXPECT_EQ(without_numbers(one), without_numbers(other));
  }
}

TEST(FailureLine, LinesWithOtherWordsDiffer) {
  for (const auto& [one, other] :
       std::vector<std::pair<std::string, std::string>>{{"KeyError: 'added'", "KeyError: 'faced'"},
                                                        {"out of memory", "out of files"},
                                                        {"größer als 3", "kleiner als 3"},
                                                        {"rank 3 failed", "host 3 failed"},
                                                        {"took 5 s", "took 5 ms"}}) {
    EXPECT_NE(without_numbers(one), without_numbers(other));
  }
}

TEST(FailureLine, WordsStayReadable) {
  EXPECT_EQ(without_numbers("  [node12] Überlauf: 3 of 8 at 0x7f3a, a bad cafe  "),
            "[node#] Überlauf: # of # at #, a bad cafe");
  EXPECT_EQ(without_numbers("10.5.3: a-1, b.2"), "#: a-#, b.#");
}

TEST(FailureLine, LongLinesAreCutBetweenCharacters) {
  EXPECT_EQ(without_numbers(std::string(100'000, 'x')), std::string(kFailureLine, 'x'));
  std::string accents = "x";
  for (int i = 0; i < 300; ++i) accents += "é";
  EXPECT_EQ(without_numbers(accents), accents.substr(0, kFailureLine - 1));
  EXPECT_EQ(without_numbers(std::string(100'000, '7')), "#");
}

TEST(FailureLine, LastLineThatIsNotBlankCounts) {
  EXPECT_EQ(failure_line({"first", "error 5", "", " \t", "\x1b[0m"}), "error #");
  EXPECT_EQ(failure_line({"", " "}), "");
  EXPECT_EQ(failure_line({}), "");
  EXPECT_EQ(failure_line({"5"}), "#");
}

}  // namespace
}  // namespace dlaunch::job
