#include <gmock/gmock.h>

#include "stacks/line_table.h"
#include "stacks/proc.h"

namespace dlaunch::stacks {
namespace {

TEST(StacksProc, StatIsReadBehindANameThatMayHoldAnything) {
  const auto stat = parse_stat(
      "42 (a) R (b)) S 1 42 42 0 -1 4194560 100 200 0 0 7 5 30 20 20 0 3 0 123456 2318336 198 18446744073709551615");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "a) R (b)");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->ticks, 62u);
  EXPECT_EQ(stat->start_time, 123456u);
  for (const char* bad : {"", "42", "42 (a", "42 (a) S 1 2", "42 )a( S 1"}) EXPECT_FALSE(parse_stat(bad)) << bad;
}

TEST(StacksProc, MapsAreThoseOfFiles) {
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

TEST(StacksProc, NumbersAreFoundByTheirWholeName) {
  const std::string_view io = "rchar: 12\nwchar: 34\nread_bytes: x\n";
  EXPECT_EQ(number_of(io, "wchar"), 34);
  EXPECT_EQ(number_of(io, "char"), std::nullopt);
  EXPECT_EQ(number_of(io, "read_bytes"), std::nullopt);
  EXPECT_EQ(number_of("TracerPid:\t7\n", "TracerPid"), 7);
  EXPECT_EQ(number_of("Uid:\t1000\t1000\t1000\t1000\n", "Uid"), 1000);
}

TEST(StacksProc, ACommandIsPrintable) {
  EXPECT_EQ(command_of(std::string_view("python3\0-c\0a\nb\0", 15)), "python3 -c a\\nb");
  EXPECT_EQ(command_of(""), "");
  EXPECT_EQ(command_of(std::string(500, 'x')), std::string(120, 'x') + "…");
}

/// co_linetable of CPython 3.11 for:
///   def f(a):        # line 10
///       b = a + 1
///       return g(b)
TEST(StacksLineTable, GivesTheLineOfEachInstruction) {
  const std::string_view table(
      "\x80\x00\xd8\x08\x09\x88\x41\x89\x05\x80\x41\xdd\x0b\x0c\x88\x51\x89\x34\x8c\x34\x80\x4b", 22);
  EXPECT_EQ(line_at(table, 10, 0), 10);  // RESUME
  EXPECT_EQ(line_at(table, 10, 2), 11);  // LOAD_FAST a
  EXPECT_EQ(line_at(table, 10, 8), 11);
  EXPECT_EQ(line_at(table, 10, 12), 12);  // LOAD_GLOBAL g
  EXPECT_EQ(line_at(table, 10, 4000), 0);
  EXPECT_EQ(line_at("", 10, 0), 0);
}

TEST(StacksLineTable, LinesGoBackAndForthByVarints) {
  EXPECT_EQ(line_at("\xe8\x50\x01", 100, 0), 100 + (0x50 & 0x3f) / 2 + 32);  // code 13, delta (1<<6|16)/2 = 40
  EXPECT_EQ(line_at("\xe8\x05", 100, 0), 98);                                // minus 2
  EXPECT_EQ(line_at("\xf8", 100, 0), 0);                                     // code 15: no line
  EXPECT_EQ(line_at("\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f", 100, 0), 0);     // out of range
  EXPECT_EQ(line_at("\xe8", 100, 0), 100);                                   // cut short
}

}  // namespace
}  // namespace dlaunch::stacks
