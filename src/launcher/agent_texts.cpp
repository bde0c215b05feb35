// Texts of agents: messages for the user, and the error files of failed ranks.
#include <spdlog/logger.h>

#include <map>
#include <utility>

#include "launcher/components.h"
#include "launcher/launcher.h"

namespace dlaunch::launcher {
namespace {

constexpr int kMostLogs = 1000;  // per host

/// The log level of an agent's message. The agent's last error also becomes the reason for the loss of its host.
spdlog::level::level_enum level_of(const wire::Log& message) {
  if (message.level == wire::Log::kWarning) return spdlog::level::warn;
  return message.level > wire::Log::kWarning ? spdlog::level::info : spdlog::level::debug;
}

class AgentTexts final : public Component {
 public:
  explicit AgentTexts(const Context& context) : context_(context) {}

  bool on(int host, wire::Message& message, std::deque<sys::Fd>&) override {
    if (const auto* log = std::get_if<wire::Log>(&message)) {
      print(host, *log);
    } else if (auto* wrote = std::get_if<wire::WroteError>(&message)) {
      keep(*wrote);
    } else {
      return false;
    }
    return true;
  }

 private:
  void print(int host, const wire::Log& message) {
    const int times = ++logs_[host];
    if (times > kMostLogs) return;
    const std::string& name = context_.plan.host(host).host.name;
    if (times == kMostLogs) return context_.log.warn("{}: further messages of the agent are not shown", name);
    context_.log.log(level_of(message), "{}: {}", name, message.text);
  }

  void keep(wire::WroteError& wrote) const {
    auto* texts = context_.error_texts;
    if (texts && texts->size() < Launcher::kMostErrorTexts) {
      texts->emplace(static_cast<int>(wrote.rank), std::move(wrote.text));
    }
  }

  const Context& context_;
  std::map<int, int> logs_;  // number of messages, by host
};

}  // namespace

std::unique_ptr<Component> make_agent_texts(const Context& context) { return std::make_unique<AgentTexts>(context); }

}  // namespace dlaunch::launcher
