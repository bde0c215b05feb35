// What there is to run on: hosts in order, their slots and devices, and where each number came from.
// A value. The allocate room makes it; the planner reads it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::plan {

enum class DeviceKind { none, nvidia, ascend, amd, fake, named };  // named: by the user, of a kind not known here

std::string_view to_string(DeviceKind kind);

/// How a host is reached. What is empty was not said, and the user's ssh configuration decides.
struct Reach {
  std::string user;
  std::optional<int> port;
  std::string identity;  ///< a private key's file here; may begin with ~/
  std::string jump;      ///< [user@]host[:port][,…]
  std::string agent;     ///< where the agent is installed there, so that none is sent
  bool operator==(const Reach&) const = default;
};

struct Host {
  std::string name;                      ///< exactly as the user or the machine gives it; never shortened
  std::vector<std::string> other_names;  ///< of this same host, as given elsewhere in the list
  std::string from;                      ///< "hosts:3", "-H", "SLURM_JOB_NODELIST"; empty for the machine we are on
  bool local = false;                    ///< the machine we are on, needing no connection
  Reach reach;
  int slots = 0;                 ///< CPUs that may be used here, or what the user said
  bool slots_unknown = false;    ///< nobody said, and the host was not asked yet: `slots` is 0
  std::optional<int> max_slots;  ///< never more ranks than this, not even with --oversubscribe
  std::string slots_from;        ///< "affinity mask", "cgroup cpu.max", "hosts:3", …
  std::string wdir;              ///< instead of the launcher's own; --wdir comes before it
  std::vector<std::string> env;  ///< NAME=VALUE for ranks here; -x comes before it
  DeviceKind device_kind = DeviceKind::none;
  std::vector<int> devices;  ///< physical ids in the order of use; what the user hid is not in it
  std::vector<int> seen;     ///< those that the launcher's *_VISIBLE_DEVICES leave, in its order; empty: no such list
  std::vector<std::string>
      uuids;                 ///< of devices 0, 1, …, where that list names UUIDs and so physical ids are not known
  std::string devices_from;  ///< "/dev/nvidia*", "CUDA_VISIBLE_DEVICES", "--fake-devices", …; empty without devices
};

/// What a host list of one program names, or the job's own list: the first pool.
struct Pool {
  std::vector<int> hosts;     ///< indices into Allocation::hosts, in the list's order
  std::vector<int> slots;     ///< that the list gives each of them
  std::vector<int> sequence;  ///< the host of each entry of the list
};

struct Allocation {
  std::vector<Host> hosts;
  std::vector<int> sequence = {};         ///< the host of each entry of the list, in the user's order, for --map-by seq
  std::vector<std::string> notes = {};    ///< for Plan::notes
  std::vector<std::string> remarks = {};  ///< for Plan::remarks
  std::vector<Pool> pools = {};           ///< AppRequest::pool names one; empty: no program has a list of its own
  bool slots_are_limits = false;          ///< the user named the slots (hostfile, -H): more ranks need --oversubscribe
};

}  // namespace dlaunch::plan
