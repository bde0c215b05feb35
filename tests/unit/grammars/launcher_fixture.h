// A fixture for command lines of other launchers and their equivalent dlaunch commands.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "command_line_fixture.h"
#include "grammars/launcher_line.h"

namespace dlaunch::cli {

struct LauncherFixture : CommandLineFixture {
  /// `defaults`: options of nearly all equivalent commands; same() removes them.
  LauncherFixture(const std::string& launcher, const std::string& defaults) : defaults_(defaults) {
    program_name = launcher;
  }

  /// The equivalent dlaunch command, without the defaults.
  std::string same(const Words& args) const {
    constexpr const char* kSame = "this command line is the same as: dlaunch ";
    const Options made = options(args);
    std::string text = made.remarks.empty() ? "" : made.remarks.front();
    if (!text.starts_with(kSame)) return "missing equivalent command: " + text;
    text.erase(0, std::string(kSame).size());
    for (std::string option : options_of(defaults_)) {
      option += ' ';
      const size_t at = text.find(option);
      if (at != std::string::npos) text.erase(at, option.size());
    }
    return text;
  }

 private:
  /// Splits "--a --b c" into "--a" and "--b c".
  static Words options_of(const std::string& line) {
    Words found;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word.starts_with("--")) {
        found.push_back(word);
      } else {
        found.back() += " " + word;
      }
    }
    return found;
  }

  std::string defaults_;
};

struct SameLine {
  Words args;
  std::string same;
};

inline void PrintTo(const SameLine& line, std::ostream* out) { print_words(line.args, *out); }

struct RefusedLine {
  Words args;
  std::string message;  // part of the error
};

inline void PrintTo(const RefusedLine& line, std::ostream* out) { print_words(line.args, *out); }

/// Checks that the page contains the table of the launcher's rows. If DLAUNCH_UPDATE_GOLDEN is set, replaces the table
/// of the page, from the header row to the next empty line.
inline void expect_table_in(const std::string& page, const LauncherSpec& launcher) {
  const std::string path = std::string(DLAUNCH_DOCS "/") + page;
  std::stringstream read;
  read << std::ifstream(path).rdbuf();
  std::string text = read.str();
  const std::string table = launcher_table(launcher);
  const size_t begin = text.find(table.substr(0, table.find('\n') + 1));
  ASSERT_NE(begin, std::string::npos) << "missing table of " << launcher.name;
  const size_t end = std::min(text.find("\n\n", begin), text.size() - 1) + 1;
  if (std::getenv("DLAUNCH_UPDATE_GOLDEN")) {
    text.replace(begin, end - begin, table);
    std::ofstream(path) << text;
  }
  EXPECT_EQ(text.substr(begin, end - begin), table);
}

}  // namespace dlaunch::cli
