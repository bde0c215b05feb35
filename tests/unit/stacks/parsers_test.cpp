#include <gmock/gmock.h>

#include <map>

#include "stacks/process.h"
#include "stacks/python.h"
#include "stacks/python_layout.h"

namespace dlaunch::stacks {
namespace {

TEST(StacksProc, StatAcceptsAnyBytesInTheName) {
  const auto stat = parse_stat(
      "42 (a) R (b)) S 1 42 42 0 -1 4194560 100 200 0 0 7 5 30 20 20 0 3 0 123456 2318336 198 18446744073709551615");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "a) R (b)");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->ticks, 62u);
  EXPECT_EQ(stat->start_time, 123456u);
  for (const char* bad : {"", "42", "42 (a", "42 (a) S 1 2", "42 )a( S 1"}) EXPECT_FALSE(parse_stat(bad)) << bad;
}

TEST(StacksProc, MapsContainOnlyFiles) {
  const auto maps = parse_maps(
      "00400000-0041f000 r--p 00000000 08:01 131 /usr/bin/python3.11\n"
      "0041f000-00696000 r-xp 0001f000 08:01 131 /usr/bin/with a blank (deleted)\n"
      "00a00000-00b00000 rw-p 00000000 00:00 0 [heap]\n"
      "7f0000000000-7f0000001000 rw-p 00000000 00:00 0\n"
      "zz-7f r--p 0 0 0 /x\n5-4 r--p 0 0 0 /x\n");
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps[0].start, 0x400000u);
  EXPECT_EQ(maps[0].offset, 0u);
  EXPECT_FALSE(maps[0].executable);
  EXPECT_EQ(maps[1].offset, 0x1f000u);
  EXPECT_TRUE(maps[1].executable);
  EXPECT_EQ(maps[1].path, "/usr/bin/with a blank (deleted)");
}

TEST(StacksProc, NumbersRequireTheWholeName) {
  const std::string_view io = "rchar: 12\nwchar: 34\nread_bytes: x\n";
  EXPECT_EQ(number_of(io, "wchar"), 34);
  EXPECT_EQ(number_of(io, "char"), std::nullopt);
  EXPECT_EQ(number_of(io, "read_bytes"), std::nullopt);
  EXPECT_EQ(number_of("TracerPid:\t7\n", "TracerPid"), 7);
  EXPECT_EQ(number_of("Uid:\t1000\t1000\t1000\t1000\n", "Uid"), 1000);
}

TEST(StacksProc, CommandIsPrintable) {
  EXPECT_EQ(command_of(std::string_view("python3\0-c\0a\nb\0", 15), "name"), "python3 -c a\\nb");
  EXPECT_EQ(command_of("", ""), "");
  EXPECT_EQ(command_of(std::string(9, '\0'), "\n\033]0;X\007"), "\\n\\x1b]0;X\\x07");  // the name instead
  EXPECT_EQ(command_of(std::string(500, 'x'), ""), std::string(120, 'x') + "…");
}

/// co_lnotab of CPython 3.8 and 3.9, and co_linetable of 3.10, for:
///   def f(a):                  # line 1
///       b = (a +
///            1)
///       for i in range(3):
///           b += i
///       return g(b)
TEST(StacksLineTable, OldTablesMayContainEarlierLines) {
  const std::string_view lnotab("\x00\x01\x02\x01\x02\xff\x04\x02\x0c\x01\x0a\x01", 12);
  const std::string_view ranges("\x02\x01\x02\x01\x04\xff\x0c\x02\x0a\x01\x08\x01", 12);
  const std::map<std::size_t, int> lines{{0, 2}, {2, 3}, {4, 2}, {6, 2}, {8, 4}, {18, 4}, {20, 5}, {28, 5}, {30, 6}};
  for (const auto& [offset, line] : lines) {
    EXPECT_EQ(line_of_lnotab(lnotab, 1, offset), line) << offset;
    EXPECT_EQ(line_of_range(ranges, 1, offset), line) << offset;
  }
  EXPECT_EQ(line_of_lnotab(lnotab, 1, 4000), 6);  // the table does not contain the end of the code
  EXPECT_EQ(line_of_range(ranges, 1, 38), 0);
}

/// A function with a statement 401 lines below its `def`: several pairs, because a pair has at most 127 lines.
TEST(StacksLineTable, OldTablesMayContainLongSteps) {
  EXPECT_EQ(line_of_lnotab(std::string_view("\x00\x7f\x00\x7f\x00\x7f\x00\x14\x04\x02", 10), 1, 0), 402);
  EXPECT_EQ(line_of_range(std::string_view("\x00\x7f\x00\x7f\x00\x7f\x04\x14\x02\x02", 10), 1, 4), 404);
  EXPECT_EQ(line_of_lnotab(std::string_view("\xff\x00\x01\x01", 4), 1, 255), 1);
  EXPECT_EQ(line_of_lnotab(std::string_view("\xff\x00\x01\x01", 4), 1, 256), 2);
}

TEST(StacksLineTable, AcceptsInvalidOldTables) {
  EXPECT_EQ(line_of_range(std::string_view("\x02\x80\x02\x01", 4), 1, 0), 0);  // without a line
  EXPECT_EQ(line_of_range(std::string_view("\x02\x80\x02\x01", 4), 1, 2), 2);
  for (const std::string_view table : {"", "\x02", "\xff"}) {
    EXPECT_EQ(line_of_lnotab(table, 7, 0), 7);
    EXPECT_EQ(line_of_range(table, 7, 0), 0);
  }
  EXPECT_EQ(line_of_lnotab(std::string_view("\x00\x81", 2), 1, 0), 0);  // a line before the first
  EXPECT_EQ(line_of_range(std::string_view("\x02\x81", 2), 1, 0), 0);
}

TEST(StacksPython, ReportsAnUnsupportedVersion) {
  const ReadMemory fails = [](std::uint64_t, std::span<char>) { return false; };
  Budget budget({.bytes = 0, .work = 0});
  EXPECT_EQ(read_python(fails, 0, 0x030f00f0, budget).trouble,
            "stacks of Python 3.15.0 are not supported: expected Python 3.8 to 3.14 with a GIL");
  EXPECT_THAT(read_python(fails, 0, 0, budget).trouble, testing::HasSubstr("a Python before 3.8"));
}

/// co_linetable of CPython 3.11 for:
///   def f(a):        # line 10
///       b = a + 1
///       return g(b)
TEST(StacksLineTable, ReturnsTheLineOfEachInstruction) {
  const std::string_view table(
      "\x80\x00\xd8\x08\x09\x88\x41\x89\x05\x80\x41\xdd\x0b\x0c\x88\x51\x89\x34\x8c\x34\x80\x4b", 22);
  EXPECT_EQ(line_of_location(table, 10, 0), 10);  // RESUME
  EXPECT_EQ(line_of_location(table, 10, 2), 11);  // LOAD_FAST a
  EXPECT_EQ(line_of_location(table, 10, 8), 11);
  EXPECT_EQ(line_of_location(table, 10, 12), 12);  // LOAD_GLOBAL g
  EXPECT_EQ(line_of_location(table, 10, 4000), 0);
  EXPECT_EQ(line_of_location("", 10, 0), 0);
}

TEST(StacksLineTable, VarintsMoveLinesInBothDirections) {
  EXPECT_EQ(line_of_location("\xe8\x50\x01", 100, 0), 100 + (0x50 & 0x3f) / 2 + 32);  // code 13, delta (1<<6|16)/2 = 40
  EXPECT_EQ(line_of_location("\xe8\x05", 100, 0), 98);                                // minus 2
  EXPECT_EQ(line_of_location("\xf8", 100, 0), 0);                                     // code 15: without a line
  EXPECT_EQ(line_of_location("\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f", 100, 0), 0);     // out of range
  EXPECT_EQ(line_of_location("\xe8", 100, 0), 100);                                   // truncated
}

}  // namespace
}  // namespace dlaunch::stacks
