// A fixture for tests of the command line: files and environment are values.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "base/try.h"
#include "grammars/command_line.h"

namespace dlaunch::cli {

using Words = std::vector<std::string>;

/// Prints the parameter of a test case.
inline void print_words(const Words& words, std::ostream& out) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  out << testing::PrintToString(line);
}

struct CommandLineFixture {
  std::vector<std::string> environment = {"HOME=/home/u"};
  std::string cwd = "/cwd";
  std::map<std::string, std::string> files;
  std::string program_name = "dlaunch";

  Result<Command> parse(const Words& args) const {
    const auto read = [this](const std::string& path, const ReadLimit& = {}) -> tl::expected<std::string, Unreadable> {
      const auto found = files.find(path);
      if (found != files.end()) return found->second;
      return tl::unexpected<Unreadable>(
          {{.where = "", .what = "cannot read " + path, .why = "missing", .hint = ""}, true});
    };
    const auto line = TRY(read_command_line(program_name, args));
    const auto text = [&](const std::string& path) -> Result<std::string> {
      auto found = read(path);
      if (!found) return fail(std::move(found.error().error));
      return *std::move(found);
    };
    return parse_command_line(
        line,
        {.environment = environment, .place = place::read_place(environment, text), .cwd = cwd, .read_file = read});
  }

  /// Fails the test with the error's text when there is an error.
  Options options(const Words& args) const {
    auto command = parse(args);
    if (command && std::holds_alternative<Options>(*command)) return std::get<Options>(*command);
    ADD_FAILURE() << (command ? "text: " + std::get<ShowText>(*command).text : to_text(command.error()));
    return {};
  }

  /// Returns the error's text, empty when there is no error. Every error must have exit code 2.
  std::string error(const Words& args) const {
    const auto command = parse(args);
    if (command) return "";
    EXPECT_EQ(command.error().exit_code, kExitRefused);
    return to_text(command.error());
  }

  std::string text(const Words& args) const {
    const auto command = parse(args);
    if (command && std::holds_alternative<ShowText>(*command)) return std::get<ShowText>(*command).text;
    ADD_FAILURE() << (command ? "options" : to_text(command.error()));
    return "";
  }
};

/// The argv of each program.
inline std::vector<Words> programs(const Options& options) {
  std::vector<Words> all;
  for (const plan::AppRequest& app : options.request.apps) all.push_back(app.argv);
  return all;
}

/// NAME=VALUE of each setting. NAME only, if the value comes from the environment.
inline Words variables(const plan::AppRequest& app) {
  Words all;
  for (const plan::EnvSetting& setting : app.env)
    all.push_back(setting.name + (setting.value ? "=" + *setting.value : ""));
  return all;
}

}  // namespace dlaunch::cli
