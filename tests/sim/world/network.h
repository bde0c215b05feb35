// The connections between the launcher and the agents: each direction is a queue of packets with a delay. Silence keeps
// packets, and passes them on when it ends, as TCP does. A login is a packet, too. Owned by World.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sys/fd.h"
#include "transport/transport.h"
#include "wire/codec.h"

namespace sim {

class World;

/// A login to a host, and the agent that it starts. Passive.
struct Agent {
  struct Packet {
    std::string bytes;
    bool end = false;    ///< the sender closed the connection
    bool plain = false;  ///< from a shell: no frames
  };
  int id = 0;
  int host = 0;
  int guardian = 0;  ///< pid; 0: not started
  int worker = 0;
  bool direct = false;  ///< on the launcher's machine: no network between the two
  bool refused = false;
  bool shell = false;                 ///< the launcher first sends a script
  std::string script = {};            ///< what it has sent of the script
  dlaunch::sys::Fd launcher_fd = {};  ///< the world's end of the launcher's socket
  dlaunch::sys::Fd agent_fd = {};     ///< the world's end of the agent's socket
  bool launcher_closed = false;
  std::deque<Packet> to_launcher = {}, to_agent = {};  ///< on the way
  std::deque<Packet> held_out = {}, held_in = {};      ///< by a blocked direction
  std::string unsent_out = {}, unsent_in = {};         ///< a socket was full
  bool end_after_unsent = false;
  dlaunch::wire::Decoder sent{dlaunch::wire::Sender::launcher};  ///< for the trace: the frames of the launcher
  dlaunch::wire::Decoder told{dlaunch::wire::Sender::agent};     ///< for the promises: the frames of the agent
};

class Network {
 public:
  explicit Network(World& world) : world_(world) {}

  dlaunch::Result<dlaunch::transport::Connection> open(int host);
  /// Takes what the launcher has written.
  void hear_launcher();
  /// Takes what the agent has written.
  void hear_agent(Agent& agent);
  /// The worker's end of the connection is gone.
  void worker_ended(Agent& agent);
  /// Full sockets may have room again.
  void push();
  /// A blocked direction of the host is open again, or the host has thawed.
  void unblock(int host);
  /// Both ends see a reset of each connection to the host.
  void cut(int host);

  std::vector<std::unique_ptr<Agent>>& agents() { return agents_; }
  const std::vector<std::unique_ptr<Agent>>& agents() const { return agents_; }

 private:
  void login(int id);
  bool has_script(Agent& agent);
  void from_launcher(Agent& agent, Agent::Packet packet);
  void to_worker(Agent& agent, const Agent::Packet& packet);
  void from_agent(Agent& agent, Agent::Packet packet);
  void to_launcher(Agent& agent, const Agent::Packet& packet);
  void arrive_at_agent(int id);
  void arrive_at_launcher(int id);

  World& world_;
  std::vector<std::unique_ptr<Agent>> agents_;
};

}  // namespace sim
