// The hosts of a job in order, with their slots and devices, and the source of each number. Values: the modules hosts,
// machine and settle_hosts make these values, and the planner reads these values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::plan {

enum class DeviceKind { none, nvidia, ascend, amd, fake, named };  // named: listed by the user, unknown kind

std::string_view to_string(DeviceKind kind);

/// The settings for the connection to a host. An empty field means the value of the user's ssh configuration.
struct Reach {
  std::string user;
  std::optional<int> port;
  std::string identity;  ///< path of a private key on this machine; may begin with ~/
  std::string jump;      ///< [user@]host[:port][,…]
  std::string agent;     ///< path of an agent that is installed on the host; empty: the launcher sends the agent
  std::optional<int> node = {};  ///< with --same-line: the host's node number
  std::string address = {};      ///< the address that other hosts use; empty: other hosts use the name
  std::string step = {};         ///< words for this host in the resource manager's command: --het-group=1
  bool operator==(const Reach&) const = default;
};

/// The resource manager that started this process.
struct Manager {
  std::string name;  ///< "Slurm"
  std::string job;   ///< the job's number; empty: unknown
  bool operator==(const Manager&) const = default;
};

/// "Slurm job 5".
std::string to_string(const Manager& manager);

struct Host {
  std::string name;                      ///< as the user or the machine spells it; never shortened
  std::vector<std::string> other_names;  ///< further names of this host in the list
  std::string from;                      ///< as HostEntry::from; empty for this machine
  bool local = false;                    ///< this machine: no connection is needed
  Reach reach;
  int slots = 0;                 ///< number of usable CPUs, or the number that the user set
  bool slots_unknown = false;    ///< the host must be queried; `slots` is 0
  int cpus = 0;                  ///< if above `slots`: number of ranks that dlaunch accepts without --oversubscribe
  std::optional<int> max_slots;  ///< limit of ranks, also with --oversubscribe
  std::string slots_from;        ///< "affinity mask", "cgroup cpu.max", "hosts:3", …
  std::string wdir;              ///< working directory of ranks; empty: the launcher's. --wdir overrides this field
  std::vector<std::string> env;  ///< NAME=VALUE for the ranks of this host; -x overrides these values
  DeviceKind device_kind = DeviceKind::none;
  std::vector<int> devices;        ///< physical ids in the order of use, without hidden devices
  std::vector<int> seen;           ///< ids in the launcher's *_VISIBLE_DEVICES, in the same order; empty: not set
  std::vector<std::string> uuids;  ///< if that variable has UUIDs: these UUIDs; `devices` has positions in the list
  bool replacement = false;        ///< a spare host (at the end of `hosts`): gets ranks after the loss of a host
  std::string devices_from;  ///< "/dev/nvidia*", "CUDA_VISIBLE_DEVICES", "--fake-devices", …; empty without devices
};

/// The name or address that other hosts use to connect to `host`.
inline const std::string& known_by(const Host& host) {
  return host.reach.address.empty() ? host.name : host.reach.address;
}

/// The hosts of one list. The first pool is the list of the job. Each further pool is the list of one program.
struct Pool {
  std::vector<int> hosts;     ///< indices into Allocation::hosts, in the list's order
  std::vector<int> slots;     ///< the slots of each host in this list
  std::vector<int> sequence;  ///< the host of each entry of the list
};

struct Allocation {
  std::vector<Host> hosts;
  std::optional<Manager> manager = {};    ///< the owner of these hosts; empty if the user named the hosts
  bool by_manager = false;                ///< the manager's command starts the agents, except on the host with `local`
  std::vector<int> sequence = {};         ///< the host of each entry of the list, in the user's order, for --map-by seq
  std::vector<std::string> notes = {};    ///< for Plan::notes
  std::vector<std::string> remarks = {};  ///< for Plan::remarks
  std::vector<Pool> pools = {};   ///< AppRequest::pool is an index into this list; empty: no program has its own list
  bool slots_are_limits = false;  ///< the user set the slots (hostfile, -H): more ranks require --oversubscribe
};

}  // namespace dlaunch::plan
