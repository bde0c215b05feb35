#include "launcher/host_link.h"

#include <utility>

namespace dlaunch::launcher {

HostLink::HostLink(asio::io_context& io, int host, transport::Opened opened, const Settings& settings,
                   Handlers handlers)
    : io_(io),
      host_(host),
      passes_fds_(opened.passes_fds),
      way_end_(std::move(opened.way_end)),
      timer_(io),
      heartbeat_(settings.heartbeat, std::chrono::steady_clock::now()),
      handlers_(std::move(handlers)) {
  if (opened.errors) {
    errors_.emplace(io, std::move(opened.errors), [this](const std::string& line) { handlers_.detail(host_, line); });
  }
  wait_ready();
  if (!opened.bootstrap) {
    connect(std::move(opened.stream), {});
    return;
  }
  bootstrap_.emplace(io, std::move(opened.stream), opened.agent_path,
                     BootstrapStream::Handlers{
                         [this](sys::Fd stream, const std::string& rest) { connect(std::move(stream), rest); },
                         [this](const std::string& why) { lose(why); },
                         [this](const std::string& noise) { handlers_.detail(host_, "its shell printed: " + noise); }});
}

void HostLink::connect(sys::Fd stream, const std::string& first) {
  link_.emplace(io_, std::move(stream));
  link_->start({[this](wire::Message&& message, std::deque<sys::Fd>& fds) {
                  heartbeat_.heard(std::chrono::steady_clock::now());
                  handlers_.message(host_, std::move(message), fds);
                },
                [this](const std::string& why) { lose("the link to its agent ended: " + why); },
                {}},
               first);
  for (const wire::Message& message : std::exchange(early_, {})) link_->send(message);
  heartbeat_.resumed(std::chrono::steady_clock::now());
  beat();
}

void HostLink::send(const wire::Message& message) {
  if (link_) {
    link_->send(message);
  } else {
    early_.push_back(message);
  }
}

void HostLink::flush() {
  if (link_) link_->flush();
}

void HostLink::wait_ready() {
  timer_.expires_after(kReadyWait);
  timer_.async_wait([this](asio::error_code error) {
    if (!error) lose("no agent answered within " + std::to_string(kReadyWait.count()) + " s");
  });
}

void HostLink::beat() {
  timer_.expires_after(heartbeat_.interval());
  timer_.async_wait([this](asio::error_code error) {
    if (error) return;
    if (heartbeat_.dead(std::chrono::steady_clock::now())) return lose("its agent fell silent");
    link_->send(wire::Ping{});
    beat();
  });
}

void HostLink::lose(const std::string& why) {
  const transport::WayEnd end = way_end_ ? way_end_() : transport::WayEnd{};
  if (!end.what.empty()) {
    close();
    const std::string told = end.why.empty() ? end.what : end.what + ": " + end.why;
    return handlers_.lost(host_, end.hint.empty() ? told : told + '\n' + end.hint);
  }
  const std::string said = errors_ ? errors_->last_line() : "";
  close();
  handlers_.lost(host_, said.empty() ? why : why + ": " + said);
}

void HostLink::close() {
  timer_.cancel();
  if (link_) link_->close();
  bootstrap_.reset();
  errors_.reset();
}

}  // namespace dlaunch::launcher
