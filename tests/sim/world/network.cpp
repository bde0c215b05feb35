#include "world/network.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "sys/io.h"
#include "world/world.h"

namespace sim {
namespace {

/// The last bytes of transport::bootstrap_script().
constexpr std::string_view kScriptEnd = "exec \"$a\" \"$@\"\n}\n";

/// Sends without waiting; what does not fit is kept.
void send_some(const dlaunch::sys::Fd& fd, std::string& unsent) {
  if (!fd) return unsent.clear();
  const ssize_t sent = ::send(fd.get(), unsent.data(), unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent > 0) unsent.erase(0, static_cast<size_t>(sent));
}

/// Passes the received bytes to `got`. Returns true at the end of the stream.
template <class Got>
bool receive_all(int fd, const Got& got) {
  char bytes[1u << 16];
  for (;;) {
    const ssize_t n = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n <= 0) return n == 0 || (errno != EAGAIN && errno != EINTR);
    got(std::string(bytes, static_cast<size_t>(n)));
  }
}

}  // namespace

dlaunch::Result<dlaunch::transport::Connection> Network::open(int number) {
  auto [ours, launchers] = dlaunch::sys::make_socketpair();
  Host& host = world_.host(number);
  agents_.push_back(std::make_unique<Agent>());
  Agent& agent = *agents_.back();
  agent.id = static_cast<int>(agents_.size()) - 1;
  agent.host = number;
  world_.say("launcher connects to " + host.name);
  if (world_.scenario().here && number == 0) {
    agent.direct = true;
    world_.start_agent(agent, std::move(ours));
    return dlaunch::transport::Connection{.stream = std::move(launchers), .passes_fds = true};
  }
  agent.launcher_fd = std::move(ours);
  agent.refused = host.refuses != 0;
  if (host.refuses > 0) --host.refuses;
  world_.at(world_.now() + host.slow + 5 * world_.latency(), [this, id = agent.id] { login(id); });
  agent.shell = world_.scenario().shell;
  dlaunch::transport::Connection connection{.stream = std::move(launchers)};
  connection.bootstrap = agent.shell;
  connection.agent_path = "/usr/bin/dlaunch-agent";
  if (agent.refused) {
    connection.disconnect = [name = host.name]() -> dlaunch::transport::Disconnect {
      return {"cannot connect to " + name, "Connection refused", "", dlaunch::transport::Disconnect::Retry::when_up};
    };
  }
  return connection;
}

/// Like a SYN, the login is sent again each second until the host receives it.
void Network::login(int id) {
  Agent& agent = *agents_[static_cast<size_t>(id)];
  const Host& host = world_.host(agent.host);
  if (agent.launcher_closed) return;
  if (host.in_blocked || host.frozen) return world_.at(world_.now() + kSecond, [this, id] { login(id); });
  if (agent.refused) {
    agent.launcher_fd.reset();
    return world_.tell([&](Observer& observer) { observer.link_closed(agent.host); });
  }
  if (agent.shell) {
    if (!has_script(agent)) return world_.at(world_.now() + 5 * kMs, [this, id] { login(id); });
    const std::string nonce = agent.script.substr(2, agent.script.find(' ') - 2);  // "n=NONCE …"
    from_agent(agent, {"dlaunch:" + nonce + " ready x86_64\n", false, true});
  }
  auto [ours, workers] = dlaunch::sys::make_socketpair();
  agent.agent_fd = std::move(ours);
  world_.start_agent(agent, std::move(workers));
  for (const auto& packet : std::exchange(agent.held_in, {})) to_worker(agent, packet);
}

/// Whether the script has arrived. Then takes it from the packets.
bool Network::has_script(Agent& agent) {
  std::string arrived;
  for (const auto& packet : agent.held_in) arrived += packet.bytes;
  if (!arrived.ends_with(kScriptEnd)) return false;
  std::erase_if(agent.held_in, [](const Agent::Packet& packet) { return !packet.end; });
  return true;
}

void Network::hear_launcher() {
  for (size_t i = 0; i < agents_.size(); ++i) {
    Agent& agent = *agents_[i];
    if (agent.direct) {
      if (Process* worker = world_.processes().find(agent.worker)) world_.processes().poke(*worker);
      continue;
    }
    if (!agent.launcher_fd || agent.launcher_closed) continue;
    if (!receive_all(agent.launcher_fd.get(), [&](std::string bytes) { from_launcher(agent, {std::move(bytes)}); }))
      continue;
    agent.launcher_closed = true;
    world_.say("launcher closes the link to " + world_.host(agent.host).name);
    from_launcher(agent, {.bytes = {}, .end = true});
  }
}

void Network::from_launcher(Agent& agent, Agent::Packet packet) {
  if (agent.shell && !agent.script.ends_with(kScriptEnd)) {
    agent.script += packet.bytes;
  } else if (!packet.end) {
    world_.launcher_sent(agent, packet.bytes);
  }
  agent.to_agent.push_back(std::move(packet));
  world_.at(world_.now() + world_.latency(), [this, id = agent.id] { arrive_at_agent(id); });
}

void Network::arrive_at_agent(int id) {
  Agent& agent = *agents_[static_cast<size_t>(id)];
  if (agent.to_agent.empty()) return;
  Agent::Packet packet = std::move(agent.to_agent.front());
  agent.to_agent.pop_front();
  const Host& host = world_.host(agent.host);
  if (host.in_blocked || host.frozen || agent.worker == 0 || !agent.held_in.empty()) {
    agent.held_in.push_back(std::move(packet));
  } else {
    to_worker(agent, packet);
  }
}

void Network::to_worker(Agent& agent, const Agent::Packet& packet) {
  if (!agent.agent_fd) return;
  if (Process* worker = world_.processes().find(agent.worker)) world_.processes().poke(*worker);
  if (packet.end && agent.unsent_in.empty()) {
    ::shutdown(agent.agent_fd.get(), SHUT_WR);
    return;
  }
  agent.end_after_unsent = agent.end_after_unsent || packet.end;
  agent.unsent_in += packet.bytes;
  send_some(agent.agent_fd, agent.unsent_in);
}

void Network::hear_agent(Agent& agent) {
  if (!agent.agent_fd) return;
  if (!receive_all(agent.agent_fd.get(), [&](std::string bytes) { from_agent(agent, {std::move(bytes)}); })) return;
  agent.agent_fd.reset();
  if (!agent.launcher_closed) world_.tell([&](Observer& observer) { observer.link_closed(agent.host); });
  from_agent(agent, {.bytes = {}, .end = true});
}

void Network::worker_ended(Agent& agent) { hear_agent(agent); }

void Network::from_agent(Agent& agent, Agent::Packet packet) {
  agent.to_launcher.push_back(std::move(packet));
  world_.at(world_.now() + world_.latency(), [this, id = agent.id] { arrive_at_launcher(id); });
}

void Network::arrive_at_launcher(int id) {
  Agent& agent = *agents_[static_cast<size_t>(id)];
  if (agent.to_launcher.empty()) return;
  Agent::Packet packet = std::move(agent.to_launcher.front());
  agent.to_launcher.pop_front();
  Host& host = world_.host(agent.host);
  if (host.halves && packet.bytes.size() > 1 && !host.out_blocked && agent.held_out.empty()) {
    const size_t half = packet.bytes.size() / 2;
    to_launcher(agent, {packet.bytes.substr(0, half), false, packet.plain});
    packet.bytes.erase(0, half);
    host.out_blocked = true;
  }
  if (host.out_blocked || !agent.held_out.empty()) {
    agent.held_out.push_back(std::move(packet));
  } else {
    to_launcher(agent, packet);
  }
}

void Network::to_launcher(Agent& agent, const Agent::Packet& packet) {
  if (!agent.launcher_fd) return;
  if (packet.end) return agent.launcher_fd.reset();
  if (!packet.plain) world_.launcher_heard(agent, packet.bytes);
  agent.unsent_out += packet.bytes;
  send_some(agent.launcher_fd, agent.unsent_out);
}

void Network::push() {
  for (auto& agent : agents_) {
    if (!agent->unsent_out.empty()) send_some(agent->launcher_fd, agent->unsent_out);
    if (agent->unsent_in.empty()) continue;
    send_some(agent->agent_fd, agent->unsent_in);
    if (agent->unsent_in.empty() && agent->end_after_unsent && agent->agent_fd)
      ::shutdown(agent->agent_fd.get(), SHUT_WR);
  }
}

void Network::unblock(int number) {
  const Host& host = world_.host(number);
  for (size_t i = 0; i < agents_.size(); ++i) {
    Agent& agent = *agents_[i];
    if (agent.host != number) continue;
    if (!host.in_blocked && !host.frozen && agent.worker != 0) {
      for (const auto& packet : std::exchange(agent.held_in, {})) to_worker(agent, packet);
    }
    if (host.out_blocked) continue;
    for (const auto& packet : std::exchange(agent.held_out, {})) to_launcher(agent, packet);
  }
}

void Network::cut(int number) {
  for (size_t i = 0; i < agents_.size(); ++i) {
    Agent& agent = *agents_[i];
    if (agent.host != number || !agent.launcher_fd) continue;
    agent.launcher_fd.reset();
    world_.tell([&](Observer& observer) { observer.link_closed(agent.host); });
    agent.to_agent.push_back({.bytes = {}, .end = true});
    world_.at(world_.now() + world_.latency(), [this, id = agent.id] { arrive_at_agent(id); });
  }
}

}  // namespace sim
