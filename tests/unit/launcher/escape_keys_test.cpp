// The keys that are commands to dlaunch.
#include "launcher/escape_keys.h"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using Command = EscapeKeys::Command;

struct Given {
  std::string bytes;
  std::vector<Command> commands;
};

Given feed(EscapeKeys& keys, std::initializer_list<std::string_view> pieces) {
  Given given;
  for (const std::string_view piece : pieces) {
    const EscapeKeys::Typed typed = keys.feed(piece);
    given.bytes += typed.bytes;
    given.commands.insert(given.commands.end(), typed.commands.begin(), typed.commands.end());
  }
  return given;
}

TEST(EscapeKeys, FindsCommandsAtTheBeginningOfALine) {
  EscapeKeys keys('~');
  const Given given = feed(keys, {"~?", "ls\r~", "\x1a", "~."});
  EXPECT_EQ(given.bytes, "ls\r");
  EXPECT_EQ(given.commands, (std::vector{Command::help, Command::suspend, Command::end}));
}

TEST(EscapeKeys, PassesTheKeyElsewhere) {
  EscapeKeys keys('~');
  const Given given = feed(keys, {"cd ~.", "x~?\n", "a~."});
  EXPECT_EQ(given.bytes, "cd ~.x~?\na~.");
  EXPECT_TRUE(given.commands.empty());
}

TEST(EscapeKeys, SendsOneKeyForTwo) {
  EscapeKeys keys('~');
  EXPECT_EQ(feed(keys, {"~~."}).bytes, "~.");
}

TEST(EscapeKeys, SendsBothKeysOfAnUnknownCommand) {
  EscapeKeys keys('~');
  EXPECT_EQ(feed(keys, {"~", "/bin\r~x"}).bytes, "~/bin\r~x");
}

TEST(EscapeKeys, CanBeAnotherKeyOrNone) {
  EscapeKeys other('^');
  const Given given = feed(other, {"~.\r^."});
  EXPECT_EQ(given.bytes, "~.\r");
  EXPECT_EQ(given.commands, std::vector{Command::end});
  EscapeKeys none(std::nullopt);
  EXPECT_EQ(feed(none, {"~.\r~?"}).bytes, "~.\r~?");
}

}  // namespace
}  // namespace dlaunch::launcher
