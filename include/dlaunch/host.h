// The hosts that a job may run on, in order, with their slots and devices and where each number came from. Values: the
// allocate room makes them, the planner reads them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::plan {

enum class DeviceKind { none, nvidia, ascend, amd, fake, named };  // named: by the user, of an unknown kind

std::string_view to_string(DeviceKind kind);

/// How a host is reached. The user's ssh configuration decides what is left empty here.
struct Reach {
  std::string user;
  std::optional<int> port;
  std::string identity;          ///< path of a private key on this machine; may begin with ~/
  std::string jump;              ///< [user@]host[:port][,…]
  std::string agent;             ///< path of an agent installed on the host; empty: the agent is sent
  std::optional<int> node = {};  ///< it connected to us by itself, as this one of the job's nodes (--same-line)
  std::string address = {};      ///< at which other hosts are known to reach it; empty: they use its name
  std::string step = {};         ///< words that a resource manager's command needs for it alone, as --het-group=1
  bool operator==(const Reach&) const = default;
};

/// The resource manager in whose job this process is.
struct Manager {
  enum class Kind { slurm, grid_engine, pbs, cobalt, lsf, kubernetes, flux } kind;  ///< kubernetes: in an MPIJob
  std::string job;  ///< its number there; empty: not said
  bool operator==(const Manager&) const = default;
};

/// "Slurm job 5".
std::string to_string(const Manager& manager);

struct Host {
  std::string name;                      ///< as the user or the machine gives it; never shortened
  std::vector<std::string> other_names;  ///< names of this same host elsewhere in the list
  std::string from;                      ///< "hosts:3", "-H", "SLURM_JOB_NODELIST"; empty for this machine
  bool local = false;                    ///< it is this machine and needs no connection
  Reach reach;
  int slots = 0;                 ///< CPUs that may be used on it, or what the user said
  bool slots_unknown = false;    ///< nobody gave them and the host was not asked yet; `slots` is 0
  int cpus = 0;                  ///< more ranks than slots, up to so many, are no oversubscription
  std::optional<int> max_slots;  ///< never more ranks than this, not even with --oversubscribe
  std::string slots_from;        ///< "affinity mask", "cgroup cpu.max", "hosts:3", …
  std::string wdir;              ///< working directory in place of the launcher's; --wdir overrides it
  std::vector<std::string> env;  ///< NAME=VALUE for ranks on it; -x overrides it
  DeviceKind device_kind = DeviceKind::none;
  std::vector<int> devices;  ///< physical ids in the order of use, without those that the user hid
  std::vector<int> seen;     ///< ids that the launcher's *_VISIBLE_DEVICES leave, in its order; empty: no such list
  std::vector<std::string> uuids;  ///< of devices 0, 1, …, where that list has UUIDs, so that physical ids are unknown
  bool replacement = false;  ///< a spare host: no rank before another host is lost; an allocation has them at its end
  std::string devices_from;  ///< "/dev/nvidia*", "CUDA_VISIBLE_DEVICES", "--fake-devices", …; empty without devices
};

/// The name or address by which other hosts reach it.
inline const std::string& known_by(const Host& host) {
  return host.reach.address.empty() ? host.name : host.reach.address;
}

/// The hosts of one list: a program's own, or the job's, which is the first pool.
struct Pool {
  std::vector<int> hosts;     ///< indices into Allocation::hosts, in the list's order
  std::vector<int> slots;     ///< that the list gives to each of them
  std::vector<int> sequence;  ///< the host of each entry of the list
};

struct Allocation {
  std::vector<Host> hosts;
  std::optional<Manager> manager = {};    ///< whose hosts these are; none where the user named them
  bool by_manager = false;                ///< its own command starts the agents on all that are not `local`
  std::vector<int> sequence = {};         ///< the host of each entry of the list, in the user's order, for --map-by seq
  std::vector<std::string> notes = {};    ///< for Plan::notes
  std::vector<std::string> remarks = {};  ///< for Plan::remarks
  std::vector<Pool> pools = {};           ///< AppRequest::pool is an index; empty: no program has a list of its own
  bool slots_are_limits = false;          ///< the user gave the slots (hostfile, -H): more ranks need --oversubscribe
};

}  // namespace dlaunch::plan
