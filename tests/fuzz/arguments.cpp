// Parses any command line, environment and files. The result must be Options (with programs, if the subcommand starts
// programs), a text, or an Error with exit code 2.
//
// The input is text with one word of the command line per line. A line that begins with '%' names the following lines,
// up to the next such line: %config, %app or %env (the file of this name) or %environment (NAME=VALUE lines).
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/try.h"
#include "grammars/command_line.h"

namespace {

using namespace dlaunch;
using Words = std::vector<std::string>;

struct Input {
  Words args;
  Words environment;
  std::map<std::string, std::string> files;
};

Input read_input(std::string_view text) {
  Input input;
  std::string section;
  for (std::string& line : split(text, '\n')) {
    if (line.starts_with('%')) {
      section = line.substr(1);
    } else if (section.empty()) {
      input.args.push_back(std::move(line));
    } else if (section == "environment") {
      input.environment.push_back(std::move(line));
    } else {
      input.files["/" + section] += line + '\n';
    }
  }
  return input;
}

void require(bool holds) {
  if (!holds) std::abort();
}

Result<cli::Command> parse(const Input& input, const Words& args) {
  const auto read = [&](const std::string& path,
                        const cli::ReadLimit& = {}) -> tl::expected<std::string, cli::Unreadable> {
    const auto found = input.files.find(path);
    if (found != input.files.end()) return found->second;
    return tl::unexpected<cli::Unreadable>({{.where = path, .what = "missing", .why = "", .hint = ""}, true});
  };
  const auto line = TRY(cli::read_command_line("dlaunch", args));
  const auto text = [&](const std::string& path) -> Result<std::string> {
    auto found = read(path);
    if (!found) return fail(std::move(found.error().error));
    return *std::move(found);
  };
  auto place = place::read_place(input.environment, text);
  return cli::parse_command_line(
      line, {.environment = input.environment, .place = std::move(place), .cwd = "/", .read_file = read});
}

void check_app(const Input& input, const plan::AppRequest& app) {
  require(!app.argv.empty() && !app.argv.front().empty());
  require(app.wdir.empty() || app.wdir.front() == '/');
  require(!app.ranks || *app.ranks > 0);
  for (const plan::EnvSetting& setting : app.env) require(!setting.name.empty());
  // The words of a program, parsed again, must be the same words.
  Words again{"--"};
  for (const std::string& word : app.argv) {
    if (word == ":") return;  // the word is from a line of an --app file
    again.push_back(word);
  }
  const auto command = parse({.args = {}, .environment = {}, .files = input.files}, again);
  require(command && std::get<cli::Options>(*command).request.apps.front().argv == app.argv);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const Input input = read_input({reinterpret_cast<const char*>(data), size});
  const auto command = parse(input, input.args);
  if (!command) {
    require(command.error().exit_code == kExitRefused && !command.error().what.empty());
  } else if (const auto* shown = std::get_if<cli::ShowText>(&*command)) {
    require(!shown->text.empty());
  } else {
    const auto& options = std::get<cli::Options>(*command);
    const auto& apps = options.request.apps;
    require(apps.empty() == (options.verb == cli::Verb::hosts));
    for (const plan::AppRequest& app : apps) {
      if (options.verb == cli::Verb::run || !app.argv.empty()) check_app(input, app);
    }
  }
  return 0;
}
