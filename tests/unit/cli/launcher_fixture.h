// A fixture for the lines of launchers that have options of their own: what each amounts to as dlaunch's own line.
#pragma once

#include <fstream>
#include <sstream>

#include "cli/launcher_line.h"
#include "command_line_fixture.h"

namespace dlaunch::cli {

struct LauncherFixture : CommandLineFixture {
  /// `defaults`: the options that nearly all its lines amount to; same() leaves them out where they stand so.
  LauncherFixture(const std::string& launcher, const std::string& defaults) : defaults_(defaults) {
    program_name = launcher;
  }

  /// The line that it amounts to, without the defaults.
  std::string same(const Words& args) const {
    constexpr const char* kSame = "is the same as: dlaunch ";
    const Options made = options(args);
    std::string text = made.remarks.empty() ? "" : made.remarks.front();
    if (!text.starts_with(kSame)) return "not a launcher's line: " + text;
    text.erase(0, std::string(kSame).size());
    for (std::string option : options_of(defaults_)) {
      option += ' ';
      const size_t at = text.find(option);
      if (at != std::string::npos) text.erase(at, option.size());
    }
    return text;
  }

 private:
  /// "--a", "--b c"
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
  std::string says;
};

inline void PrintTo(const RefusedLine& line, std::ostream* out) { print_words(line.args, *out); }

/// The page of docs has the table of the launcher's rows.
inline void expect_table_in(const std::string& page, const LauncherSpec& launcher) {
  std::ifstream file(std::string(DLAUNCH_DOCS "/") + page);
  std::stringstream text;
  text << file.rdbuf();
  const std::string table = launcher_table(launcher);
  EXPECT_THAT(text.str(), testing::HasSubstr(table)) << "it should be:\n" << table;
}

}  // namespace dlaunch::cli
