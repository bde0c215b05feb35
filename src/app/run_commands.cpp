#include "app/run_commands.h"

#include "dlaunch/error.h"
#include "plan/environment.h"

namespace dlaunch::app {
namespace {

constexpr std::uint32_t kPatienceMs = 10'000;
constexpr const char* kDriverTools = ":/usr/local/Ascend/driver/tools";

}  // namespace

wire::RunCommands inquire(const std::string& path, const std::vector<ranktable::Command>& commands) {
  wire::RunCommands inquire{.path = path + kDriverTools, .patience_ms = kPatienceMs, .commands = {}};
  for (const ranktable::Command& command : commands) {
    std::string& text = inquire.commands.emplace_back();
    for (const std::string& word : command) text += (text.empty() ? "" : "\n") + word;
  }
  return inquire;
}

std::vector<ranktable::Answer> answers(const launcher::QueriedHost& host, size_t commands) {
  std::vector<ranktable::Answer> list(commands, {.printed = {}, .code = kExitTimeout});
  if (!host.told) return list;
  for (size_t i = 0; i < commands && i < host.told->printed.size() && i < host.told->codes.size(); ++i) {
    list[i] = {host.told->printed[i], static_cast<int>(host.told->codes[i])};
  }
  return list;
}

std::string path_in(const std::vector<std::string>& environment) {
  constexpr std::string_view kStart = "PATH=";
  for (const std::string& entry : environment) {
    if (entry.starts_with(kStart)) return entry.substr(kStart.size());
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

}  // namespace dlaunch::app
