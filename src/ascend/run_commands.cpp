#include "ascend/run_commands.h"

#include "dlaunch/error.h"

namespace dlaunch::ascend {
namespace {

constexpr std::uint32_t kPatienceMs = 10'000;
constexpr const char* kDriverTools = ":/usr/local/Ascend/driver/tools";

}  // namespace

wire::RunCommands run_commands(const std::string& path, const std::vector<ranktable::Command>& commands) {
  wire::RunCommands request{.path = path + kDriverTools, .patience_ms = kPatienceMs, .commands = {}};
  for (const ranktable::Command& command : commands) {
    std::string& text = request.commands.emplace_back();
    for (const std::string& word : command) text += (text.empty() ? "" : "\n") + word;
  }
  return request;
}

std::vector<ranktable::Answer> answers(const launcher::QueriedHost& host, size_t commands) {
  std::vector<ranktable::Answer> list(commands, {.printed = {}, .code = kExitTimeout});
  if (!host.results) return list;
  for (size_t i = 0; i < commands && i < host.results->printed.size() && i < host.results->codes.size(); ++i) {
    list[i] = {host.results->printed[i], static_cast<int>(host.results->codes[i])};
  }
  return list;
}

}  // namespace dlaunch::ascend
