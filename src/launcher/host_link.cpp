#include "launcher/host_link.h"

#include <utility>

namespace dlaunch::launcher {

HostLink::HostLink(asio::io_context& io, int host, transport::Opened opened, const Settings& settings, Handlers handlers)
    : host_(host),
      passes_fds_(opened.passes_fds),
      link_(io, std::move(opened.stream)),
      timer_(io),
      heartbeat_(settings.heartbeat, std::chrono::steady_clock::now()),
      handlers_(std::move(handlers)) {
  link_.start({[this](wire::Message&& message, std::deque<sys::Fd>& fds) {
                 heartbeat_.heard(std::chrono::steady_clock::now());
                 handlers_.message(host_, std::move(message), fds);
               },
               [this](const std::string& why) { lose("the link to its agent ended: " + why); },
               {}});
  beat();
}

void HostLink::beat() {
  timer_.expires_after(heartbeat_.interval());
  timer_.async_wait([this](asio::error_code error) {
    if (error) return;
    if (heartbeat_.dead(std::chrono::steady_clock::now())) return lose("its agent fell silent");
    link_.send(wire::Ping{});
    beat();
  });
}

void HostLink::lose(const std::string& why) {
  close();
  handlers_.lost(host_, why);
}

void HostLink::close() {
  timer_.cancel();
  link_.close();
}

}  // namespace dlaunch::launcher
